// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_REMOTE_AWS_CREDENTIALS_H_
#define VITRINE_MODELS_TOOL_PUBLISH_REMOTE_AWS_CREDENTIALS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "models/tool/publish/remote/aws_sign.h"
#include "models/tool/publish/remote/surroundings.h"

namespace vitrine {

// Settings of one profile of ~/.aws/credentials and ~/.aws/config; the first file takes precedence.
using AwsProfile = std::map<std::string, std::string>;

// Reads a profile. The paths are $AWS_SHARED_CREDENTIALS_FILE and $AWS_CONFIG_FILE if set. Returns an empty profile if
// the files do not have the profile.
AwsProfile ReadAwsProfile(const std::string& name, const Surroundings& surroundings);
// Returns $AWS_PROFILE if set, otherwise "default".
std::string AwsProfileName(const Surroundings& surroundings);
// Returns $AWS_REGION; if it is not set, $AWS_DEFAULT_REGION; then the region of the profile; then us-east-1.
std::string AwsRegion(const Surroundings& surroundings);

// The sources of credentials, one per function. NOT_FOUND means that the source is not configured; FindAwsCredentials
// then tries the next source. FindAwsCredentials returns any other error.

// Reads $AWS_ACCESS_KEY_ID, $AWS_SECRET_ACCESS_KEY and $AWS_SESSION_TOKEN.
absl::StatusOr<AwsCredentials> AwsFromEnvironment(const Surroundings& surroundings);
// Calls AssumeRoleWithWebIdentity of STS with $AWS_WEB_IDENTITY_TOKEN_FILE and $AWS_ROLE_ARN, as EKS sets them (IRSA).
absl::StatusOr<AwsCredentials> AwsFromWebIdentity(const Surroundings& surroundings);
// Returns the keys of the profile, or assumes the profile's role with source_profile, credential_source or
// web_identity_token_file.
absl::StatusOr<AwsCredentials> AwsFromProfile(const Surroundings& surroundings);
// Requests credentials from $AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, as ECS and EKS Pod Identity set them.
absl::StatusOr<AwsCredentials> AwsFromContainer(const Surroundings& surroundings);
// Requests credentials from the metadata service of an EC2 instance, version 2.
absl::StatusOr<AwsCredentials> AwsFromInstance(const Surroundings& surroundings);

// Calls AssumeRoleWithWebIdentity with the token in a file, which is read anew each time.
absl::StatusOr<AwsCredentials> AssumeRoleWithToken(const Surroundings& surroundings, const std::string& role,
                                                   const std::string& token_file, const std::string& session);
// Calls AssumeRole, authorized by the credentials `as`.
absl::StatusOr<AwsCredentials> AssumeRole(const Surroundings& surroundings, const AwsCredentials& as,
                                          const AwsProfile& profile);

// Tries AwsFromEnvironment to AwsFromInstance in the order of their declarations. AWS's own programs use the same
// order. FAILED_PRECONDITION names the sources if none is configured.
absl::StatusOr<AwsCredentials> FindAwsCredentials(const Surroundings& surroundings);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_REMOTE_AWS_CREDENTIALS_H_
