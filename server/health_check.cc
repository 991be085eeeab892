// SPDX-License-Identifier: Apache-2.0
#include "server/health_check.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/trace/http_client.h"
#include "server/trace/http_url.h"

namespace vitrine {

absl::Status CheckHealth(const std::string& address, absl::Duration patience) {
  const auto nobody = [&](absl::string_view why) {
    return absl::UnavailableError(absl::StrCat("no health listener answers at ", address, ": ", why,
                                               "; give the address of the server's --health-listen"));
  };
  const absl::StatusOr<HttpUrl> url = ParseHttpUrl(absl::StrCat("http://", address, "/readyz"));
  if (!url.ok() || !absl::EndsWith(url->authority, ":" + url->port)) {
    return absl::InvalidArgumentError(absl::StrCat("--health-check is \"", address,
                                                   "\"; it must be HOST:PORT, the address of the server's "
                                                   "--health-listen"));
  }
  const auto response = HttpClient(*url).Send("GET", {{"connection", "close"}}, "", patience);
  if (!response.ok()) return nobody(response.status().message());
  if (response->code == 200) return absl::OkStatus();
  if (response->code != 503) return nobody(absl::StrCat("/readyz is HTTP ", response->code));
  const absl::string_view why = absl::StripAsciiWhitespace(response->body);
  return absl::FailedPreconditionError(absl::StrCat(address, " does not serve: NOT_SERVING; /readyz says why",
                                                    why.empty() ? "" : ": ", why.substr(0, why.find('\n'))));
}

}  // namespace vitrine
