// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_REMOTE_BEARER_TOKEN_H_
#define VITRINE_MODELS_TOOL_PUBLISH_REMOTE_BEARER_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "models/tool/publish/remote/surroundings.h"

namespace vitrine {

// A token of OAuth 2.0.
struct BearerToken {
  std::string text = {};
  absl::Time expires = absl::InfiniteFuture();
};

// Sends a request for a token and reads the JSON reply (access_token, expires_in). UNAVAILABLE: no reply;
// FAILED_PRECONDITION: a reply without a token.
absl::StatusOr<BearerToken> AskForToken(const Surroundings& surroundings, const FetchRequest& request);

// Returns the string member `name` of a JSON object; empty if it is missing.
std::string JsonField(const std::string& json, const char* name);

// Returns a token for Google Cloud Storage from the first of these sources: the file of
// $GOOGLE_APPLICATION_CREDENTIALS, if it is set; the file of `gcloud auth application-default login`, if it exists; the
// metadata server of Compute Engine and GKE. Google's own programs use the same order. Each of the two files describes
// a service account or a user. FAILED_PRECONDITION if there is no token.
absl::StatusOr<BearerToken> FindGoogleToken(const Surroundings& surroundings);

// Returns a token for Azure's storage: workload identity ($AZURE_FEDERATED_TOKEN_FILE, $AZURE_CLIENT_ID,
// $AZURE_TENANT_ID), otherwise the managed identity of the machine. FAILED_PRECONDITION if there is no identity.
absl::StatusOr<BearerToken> FindAzureToken(const Surroundings& surroundings);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_REMOTE_BEARER_TOKEN_H_
