// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "models/tool/publish/remote/aws_credentials.h"

namespace vitrine {
namespace {

constexpr int kMostSources = 5;  // longest chain of source_profile; a longer chain is probably a loop

// Adds the settings in a section of an INI file to `profile`, except settings that `profile` already has.
void AddSection(const std::string& text, absl::string_view section, AwsProfile& profile) {
  bool inside = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool nested = absl::StartsWith(line, " ") || absl::StartsWith(line, "\t");  // nested, as s3 settings are
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line[0] == ';' || nested) continue;
    if (line.front() == '[' && line.back() == ']') {
      inside = absl::StripAsciiWhitespace(line.substr(1, line.size() - 2)) == section;
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> entry = absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (inside) {
      profile.emplace(absl::AsciiStrToLower(absl::StripAsciiWhitespace(entry.first)),
                      absl::StripAsciiWhitespace(entry.second));
    }
  }
}

std::string PathOf(const Surroundings& surroundings, const char* variable, const char* file) {
  const std::string path = surroundings.variable(variable);
  return path.empty() ? absl::StrCat(surroundings.variable("HOME"), "/.aws/", file) : path;
}

absl::StatusOr<AwsCredentials> FromSource(const Surroundings& surroundings, const std::string& source) {
  if (source == "Environment") return AwsFromEnvironment(surroundings);
  if (source == "Ec2InstanceMetadata") return AwsFromInstance(surroundings);
  if (source == "EcsContainer") return AwsFromContainer(surroundings);
  return absl::FailedPreconditionError(absl::StrCat("credential_source is \"", source,
                                                    "\"; it must be Environment, Ec2InstanceMetadata or EcsContainer"));
}

absl::StatusOr<AwsCredentials> FromProfile(const Surroundings& surroundings, const std::string& name, int depth) {
  AwsProfile profile = ReadAwsProfile(name, surroundings);
  const std::string role = profile["role_arn"];
  if (!role.empty() && !profile["web_identity_token_file"].empty()) {
    return AssumeRoleWithToken(surroundings, role, profile["web_identity_token_file"], profile["role_session_name"]);
  }
  const std::string source = profile["source_profile"];
  const bool has_keys = !profile["aws_access_key_id"].empty();
  if (!role.empty() && (source != name || !has_keys) && depth < kMostSources) {
    const absl::StatusOr<AwsCredentials> as = source.empty() ? FromSource(surroundings, profile["credential_source"])
                                                             : FromProfile(surroundings, source, depth + 1);
    if (!as.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("profile \"", name, "\" cannot assume its role: ", as.status().message()));
    }
    return AssumeRole(surroundings, *as, profile);
  }
  if (has_keys) {
    const AwsCredentials keys = {.key = profile["aws_access_key_id"],
                                 .secret = profile["aws_secret_access_key"],
                                 .token = profile["aws_session_token"]};
    if (role.empty() || depth > 0) return keys;
    return AssumeRole(surroundings, keys, profile);
  }
  if (profile.contains("sso_session") || profile.contains("sso_start_url") || profile.contains("credential_process")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "profile \"", name, "\" uses SSO or credential_process, which are not supported; run the command with the ",
        "output of: aws configure export-credentials --profile ", name, " --format env"));
  }
  return absl::NotFoundError(absl::StrCat("profile \"", name, "\" has no credentials"));
}

}  // namespace

std::string AwsProfileName(const Surroundings& surroundings) {
  const std::string name = surroundings.variable("AWS_PROFILE");
  return name.empty() ? "default" : name;
}

AwsProfile ReadAwsProfile(const std::string& name, const Surroundings& surroundings) {
  AwsProfile profile;
  if (const auto text = ReadSecretFile(PathOf(surroundings, "AWS_SHARED_CREDENTIALS_FILE", "credentials")); text.ok()) {
    AddSection(*text, name, profile);
  }
  if (const auto text = ReadSecretFile(PathOf(surroundings, "AWS_CONFIG_FILE", "config")); text.ok()) {
    AddSection(*text, name == "default" ? name : absl::StrCat("profile ", name), profile);
  }
  return profile;
}

absl::StatusOr<AwsCredentials> AwsFromProfile(const Surroundings& surroundings) {
  const std::string name = AwsProfileName(surroundings);
  absl::StatusOr<AwsCredentials> found = FromProfile(surroundings, name, /*depth=*/0);
  if (absl::IsNotFound(found.status()) && !surroundings.variable("AWS_PROFILE").empty()) {
    return absl::FailedPreconditionError(absl::StrCat("AWS_PROFILE: ", found.status().message()));
  }
  return found;
}

}  // namespace vitrine
