// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/address.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "server/identity/identity.h"

namespace vitrine {
namespace {

bool IsNumber(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

absl::StatusOr<v1::ClassifyRequest> AddressOf(const std::string& model, const std::string& version) {
  v1::ClassifyRequest request;
  request.set_model(model);
  if (version.empty()) return request;
  int64_t number = 0;
  if (!IsNumber(version)) {
    request.set_version_label(version);
  } else if (absl::SimpleAtoi(version, &number) && number > 0) {
    request.set_version(number);
  } else {
    return absl::InvalidArgumentError(absl::StrCat("the version is ", Shown(version), "; versions are counted from 1"));
  }
  return request;
}

absl::StatusOr<ModelHandle> FindAddressed(const ClassifyService& service, const Caller& caller,
                                          const std::string& model, const std::string& version) {
  RETURN_IF_ERROR(CheckModel(caller, model));
  ASSIGN_OR_RETURN(const v1::ClassifyRequest wanted, AddressOf(model, version));
  return service.Find(wanted, caller);
}

}  // namespace vitrine
