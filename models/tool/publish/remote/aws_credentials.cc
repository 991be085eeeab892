// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/remote/aws_credentials.h"

#include "absl/strings/str_cat.h"

namespace vitrine {

std::string AwsRegion(const Surroundings& surroundings) {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (const std::string region = surroundings.variable(name); !region.empty()) return region;
  }
  const std::string region = ReadAwsProfile(AwsProfileName(surroundings), surroundings)["region"];
  return region.empty() ? "us-east-1" : region;
}

absl::StatusOr<AwsCredentials> AwsFromEnvironment(const Surroundings& surroundings) {
  AwsCredentials found = {.key = surroundings.variable("AWS_ACCESS_KEY_ID"),
                          .secret = surroundings.variable("AWS_SECRET_ACCESS_KEY"),
                          .token = surroundings.variable("AWS_SESSION_TOKEN")};
  if (found.key.empty()) return absl::NotFoundError("AWS_ACCESS_KEY_ID is not set");
  if (found.secret.empty()) return absl::FailedPreconditionError("AWS_SECRET_ACCESS_KEY is not set");
  return found;
}

absl::StatusOr<AwsCredentials> FindAwsCredentials(const Surroundings& surroundings) {
  for (const auto source :
       {AwsFromEnvironment, AwsFromWebIdentity, AwsFromProfile, AwsFromContainer, AwsFromInstance}) {
    absl::StatusOr<AwsCredentials> found = source(surroundings);
    if (!absl::IsNotFound(found.status())) return found;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "there are no AWS credentials: not in the environment (AWS_ACCESS_KEY_ID, AWS_WEB_IDENTITY_TOKEN_FILE "
      "with AWS_ROLE_ARN), not in the profile \"",
      AwsProfileName(surroundings),
      "\" of ~/.aws, and not from a container's or an instance's metadata; set one of these"));
}

}  // namespace vitrine
