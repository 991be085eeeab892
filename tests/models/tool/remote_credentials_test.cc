// SPDX-License-Identifier: Apache-2.0
// Tests signatures and credentials of remote repositories with a replaced network, clock and environment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "models/tool/publish/remote/aws_credentials.h"
#include "models/tool/publish/remote/aws_sign.h"
#include "models/tool/publish/remote/bearer_token.h"
#include "models/tool/publish/remote/mirror.h"
#include "models/tool/publish/remote/store.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kEmptyListing[] = "<ListBucketResult></ListBucketResult>";
constexpr absl::Duration kLife = absl::Seconds(60);

// The services of a cloud whose tokens are valid for 60 seconds. A token is "token-<Unix time at which it expires>-".
class Cloud {
 public:
  Surroundings surroundings() {
    return {.ask = [this](const FetchRequest& request) { return Answer(request); },
            .now = [this] { return now; },
            .variable = [this](const std::string& name) { return variables[name]; }};
  }

  absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  std::map<std::string, std::string> variables = {{"HOME", "/nowhere"}};
  bool away = false;
  int issued = 0, refused = 0, listed = 0;
  std::vector<FetchRequest> asked;

 private:
  std::string Token() {
    ++issued;
    return absl::StrCat("token-", absl::ToUnixSeconds(now + kLife), "-");
  }

  bool IsValid(const FetchRequest& request) const {
    const std::string end = "token-";
    for (const char* name : {"Authorization", "x-amz-security-token"}) {
      const auto header = request.headers.find(name);
      if (header == request.headers.end()) continue;
      const size_t at = header->second.find(end);
      if (at != std::string::npos) return std::stoll(header->second.substr(at + end.size())) > absl::ToUnixSeconds(now);
    }
    return false;
  }

  absl::StatusOr<FetchReply> Answer(const FetchRequest& request) {
    asked.push_back(request);
    if (away) return absl::UnavailableError("the network is away");
    const std::string time = absl::FormatTime(absl::RFC3339_sec, now + kLife, absl::UTCTimeZone());
    const std::string& url = request.url;
    if (absl::StrContains(request.body, "Action=AssumeRole")) {
      return FetchReply{.status = 200,
                        .body = absl::StrCat("<Credentials><AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>s</"
                                             "SecretAccessKey><SessionToken>",
                                             Token(), "</SessionToken><Expiration>", time, "</Expiration>")};
    }
    if (absl::EndsWith(url, "/latest/api/token")) return FetchReply{.status = 200, .body = "imds"};
    if (absl::EndsWith(url, "/security-credentials/")) return FetchReply{.status = 200, .body = "the-role"};
    if (absl::EndsWith(url, "/the-role") || absl::StrContains(url, "169.254.170.2")) {
      return FetchReply{.status = 200,
                        .body = absl::StrCat(R"({"AccessKeyId":"K","SecretAccessKey":"s","Token":")", Token(),
                                             R"(","Expiration":")", time, R"("})")};
    }
    if (absl::StrContains(url, "token")) {
      return FetchReply{.status = 200, .body = absl::StrCat(R"({"access_token":")", Token(), R"(","expires_in":60})")};
    }
    ++listed;
    if (!IsValid(request)) {
      ++refused;
      return FetchReply{.status = 403, .body = "<Code>AccessDenied</Code><Message>no valid token</Message>"};
    }
    return FetchReply{.status = 200,
                      .body = absl::StrContains(url, "comp=list") ? "<EnumerationResults/>" : kEmptyListing};
  }
};

class RemoteCredentials : public testing::Test {
 protected:
  // Lists the remote repository every second for three simulated hours. Every request must have a valid token, and
  // tokens must not be fetched needlessly.
  void ListForThreeHours(const std::string& address) {
    const auto store = OpenRemote(address, "", cloud_.surroundings());
    ASSERT_TRUE(store.ok()) << store.status();
    for (int second = 0; second < 3 * 3600; ++second) {
      const auto listed = (*store)->List();
      ASSERT_TRUE(listed.ok()) << "second " << second << ": " << listed.status();
      cloud_.now += absl::Seconds(1);
    }
    EXPECT_EQ(cloud_.refused, 0);
    EXPECT_EQ(cloud_.listed, 3 * 3600);
    EXPECT_NEAR(cloud_.issued, 3 * 3600 / 45, 2) << "a token is renewed in the last quarter of its minute";
  }

  // Returns a service account's JSON with a new key.
  static std::string ServiceAccount() {
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_RSA_gen(2048), EVP_PKEY_free);
    const std::unique_ptr<BIO, int (*)(BIO*)> bytes(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_PrivateKey(bytes.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bytes.get(), &data);
    std::string escaped;
    for (const char c : std::string(data, static_cast<size_t>(size))) escaped += c == '\n' ? "\\n" : std::string(1, c);
    return absl::StrCat(R"({"type":"service_account","client_email":"a@b","token_uri":"https://oauth/token",)",
                        R"("private_key":")", escaped, R"("})");
  }

  ScratchFolder scratch_;
  Cloud cloud_;
};

// The examples of AWS's documentation of Signature Version 4.
TEST(AwsSign, ReproducesTheDocumentedSignatures) {
  const AwsCredentials credentials = {.key = "AKIAIOSFODNN7EXAMPLE",
                                      .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  const absl::Time time = absl::FromUnixSeconds(1369353600);  // 2013-05-24
  for (const auto& [query, signature] : {
           std::pair("lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
           std::pair("prefix=J&max-keys=2", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
       }) {
    FetchRequest request = {.url = absl::StrCat("https://examplebucket.s3.amazonaws.com/?", query)};
    SignForAws(request, credentials, "us-east-1", "s3", Sha256Hex(""), time);
    EXPECT_THAT(request.headers["Authorization"], EndsWith(absl::StrCat("Signature=", signature))) << query;
  }
}

TEST_F(RemoteCredentials, OnlyALocalRegistryIsCalledWithoutTls) {
  for (const std::string host : {"localhost", "localhost:5000", "127.0.0.1:5000"}) {
    OpenRemote("oci://" + host + "/models", "", cloud_.surroundings()).value()->List().status().IgnoreError();
    EXPECT_THAT(cloud_.asked.back().url, StartsWith("http://" + host + "/")) << host;
  }
  for (const std::string host : {"localhost.example.org", "127.0.0.1.example.org:5000", "128.0.0.1"}) {
    OpenRemote("oci://" + host + "/models", "", cloud_.surroundings()).value()->List().status().IgnoreError();
    EXPECT_THAT(cloud_.asked.back().url, StartsWith("https://" + host + "/")) << host;
  }
}

// A registry can send any JSON. A value of a wrong type must give an error.
TEST_F(RemoteCredentials, WrongTypesInARegistryManifestAreAnError) {
  Surroundings surroundings = cloud_.surroundings();
  cloud_.variables["DOCKER_CONFIG"] = scratch_.path().string();
  scratch_.Write("config.json", R"({"auths":{"registry.test":{"auth":7}}})");
  std::string layers;
  surroundings.ask = [&](const FetchRequest&) { return FetchReply{.status = 200, .body = layers}; };
  const auto store = OpenRemote("oci://registry.test/models", "", surroundings);
  for (const char* layer : {R"({"annotations":{"org.opencontainers.image.title":7}})", R"({"annotations":7})", "7",
                            R"({"annotations":{"org.opencontainers.image.title":"manifest.textproto"},"digest":7})"}) {
    layers = absl::StrCat(R"({"layers":[)", layer, "]}");
    EXPECT_FALSE((*store)->ReadManifest({"m", 1}).ok()) << layer;
  }
  surroundings.ask = [](const FetchRequest&) { return FetchReply{.status = 401}; };
  EXPECT_EQ((*OpenRemote("oci://registry.test/models", "", surroundings))->List().status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST_F(RemoteCredentials, WebIdentityIsRenewed) {
  cloud_.variables["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/models";
  cloud_.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = scratch_.Write("jwt", "header.claims.signature\n");
  ListForThreeHours("s3://models/production");
  EXPECT_THAT(cloud_.asked[0].body, HasSubstr("WebIdentityToken=header.claims.signature"));
  EXPECT_FALSE(cloud_.asked[0].headers.contains("Authorization")) << "the token is the credential";
}

TEST_F(RemoteCredentials, AnAssumedRoleIsRenewed) {
  cloud_.variables["AWS_SHARED_CREDENTIALS_FILE"] =
      scratch_.Write("credentials", "[base]\naws_access_key_id = BASE\naws_secret_access_key = s\n");
  cloud_.variables["AWS_CONFIG_FILE"] = scratch_.Write(
      "config",
      "# roles\n[profile serving]\nrole_arn = arn:r\nsource_profile = base\nexternal_id=x y\nregion=eu-west-1\n");
  cloud_.variables["AWS_PROFILE"] = "serving";
  ListForThreeHours("s3://models");
  EXPECT_EQ(cloud_.asked[0].url, "https://sts.eu-west-1.amazonaws.com/");
  EXPECT_THAT(cloud_.asked[0].body, HasSubstr("ExternalId=x%20y"));
  EXPECT_THAT(cloud_.asked[0].headers["Authorization"], HasSubstr("Credential=BASE/"));
  EXPECT_EQ(cloud_.asked[1].url, "https://models.s3.eu-west-1.amazonaws.com/?list-type=2&prefix=");
}

TEST_F(RemoteCredentials, CredentialsOfAContainerAreRenewed) {
  cloud_.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/credentials/1";
  ListForThreeHours("s3://models");
}

TEST_F(RemoteCredentials, CredentialsOfAnInstanceAreRenewed) {
  ListForThreeHours("s3://models");
  EXPECT_EQ(cloud_.asked[0].method, "PUT") << "version 2 of the metadata service";
  EXPECT_EQ(cloud_.asked[1].headers["X-aws-ec2-metadata-token"], "imds");
}

TEST_F(RemoteCredentials, TokenOfAGoogleServiceAccountIsRenewed) {
  cloud_.variables["GOOGLE_APPLICATION_CREDENTIALS"] = scratch_.Write("key.json", ServiceAccount());
  ListForThreeHours("gs://models/production");
  EXPECT_THAT(cloud_.asked[0].body, HasSubstr("&assertion=eyJ"));
}

TEST_F(RemoteCredentials, TokenOfGoogleMetadataIsRenewed) {
  ListForThreeHours("gs://models");
  EXPECT_EQ(cloud_.asked[0].headers["Metadata-Flavor"], "Google");
}

TEST_F(RemoteCredentials, TokensOfAzureAreRenewed) {
  ListForThreeHours("az://account/models/production");
  EXPECT_EQ(cloud_.asked[0].headers["Metadata"], "true");
  EXPECT_THAT(cloud_.asked[1].url,
              testing::StartsWith("https://account.blob.core.windows.net/models?comp=list&prefix="));
}

TEST_F(RemoteCredentials, AnAzureSharedAccessSignatureIsPartOfTheUrl) {
  cloud_.variables["AZURE_STORAGE_SAS_TOKEN"] = "?sv=1&sig=a%2B";
  const auto store = OpenRemote("az://account/models", "", cloud_.surroundings());
  (*store)->List().IgnoreError();
  EXPECT_THAT(cloud_.asked[0].url, EndsWith("&restype=container&sv=1&sig=a%2B"));
}

// The error is written to the server's log, so it must not contain the signature.
TEST_F(RemoteCredentials, ErrorsDoNotContainAnAzureSharedAccessSignature) {
  cloud_.variables["AZURE_STORAGE_SAS_TOKEN"] = "sv=1&sig=secret";
  Surroundings surroundings = cloud_.surroundings();
  surroundings.ask = [](const FetchRequest& request) { return absl::UnavailableError(request.url + ": no route"); };
  const absl::Status away = (*OpenRemote("az://account/models", "", surroundings))->List().status();
  EXPECT_EQ(away.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(away.message()), EndsWith("?comp=list&prefix=&restype=container: no route"));
}

// A key in a file of credentials, such as a mounted Secret, may be replaced while `pull --watch` runs.
TEST_F(RemoteCredentials, AReplacedKeyIsReread) {
  const auto write = [&](const std::string& key) {
    return scratch_.Write("credentials", "[default]\naws_access_key_id=" + key + "\naws_secret_access_key=s\n")
        .string();
  };
  cloud_.variables["AWS_SHARED_CREDENTIALS_FILE"] = write("OLD");
  Surroundings surroundings = cloud_.surroundings();
  std::string valid = "OLD";
  surroundings.ask = [&](const FetchRequest& request) {
    const bool good = absl::StrContains(request.headers.at("Authorization"), "Credential=" + valid + "/");
    return good ? FetchReply{.status = 200, .body = kEmptyListing}
                : FetchReply{.status = 403, .body = "<Code>InvalidAccessKeyId</Code>"};
  };
  const auto store = OpenRemote("s3://models", "", surroundings);
  EXPECT_TRUE((*store)->List().ok());
  valid = "NEW";
  EXPECT_EQ((*store)->List().status().code(), absl::StatusCode::kPermissionDenied);
  write("NEW");
  EXPECT_TRUE((*store)->List().ok());
}

TEST_F(RemoteCredentials, AnEndlessListingIsAnError) {
  Surroundings surroundings = cloud_.surroundings();
  cloud_.variables["AWS_ACCESS_KEY_ID"] = cloud_.variables["AWS_SECRET_ACCESS_KEY"] = "x";
  surroundings.ask = [](const FetchRequest& request) {
    return FetchReply{.status = 200,
                      .headers = {{"link", absl::StrCat("<", request.url, ">; rel=\"next\"")}},
                      .body = absl::StrContains(request.url, "/v2/")
                                  ? R"({"tags":[]})"
                                  : "<ListBucketResult><NextContinuationToken>a</NextContinuationToken>"};
  };
  for (const char* address : {"s3://models", "oci://registry.test/models"}) {
    EXPECT_THAT((*OpenRemote(address, "", surroundings))->List().status().ToString(), HasSubstr("without end"));
  }
}

TEST_F(RemoteCredentials, AreUsedWhileTheirServiceIsUnavailable) {
  Cloud metadata;
  Surroundings surroundings = cloud_.surroundings();
  surroundings.ask = [&](const FetchRequest& request) {
    return absl::StrContains(request.url, "169.254") ? metadata.surroundings().ask(request)
                                                     : cloud_.surroundings().ask(request);
  };
  const auto store = OpenRemote("s3://models", "", surroundings);
  ASSERT_TRUE((*store)->List().ok());
  metadata.away = true;
  cloud_.now += absl::Seconds(50);  // in the last quarter of the token's validity
  EXPECT_TRUE((*store)->List().ok());
  cloud_.now += absl::Seconds(11);
  EXPECT_FALSE((*store)->List().ok());
  metadata.away = false;
  metadata.now = cloud_.now;
  EXPECT_TRUE((*store)->List().ok());
}

TEST_F(RemoteCredentials, TheErrorNamesEverySource) {
  cloud_.variables["AWS_EC2_METADATA_DISABLED"] = "true";
  const auto found = FindAwsCredentials(cloud_.surroundings());
  EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(found.status().message(), HasSubstr("AWS_WEB_IDENTITY_TOKEN_FILE"));
  cloud_.variables["AWS_PROFILE"] = "misspelt";
  EXPECT_THAT(FindAwsCredentials(cloud_.surroundings()).status().message(), HasSubstr("profile \"misspelt\""));
}

TEST_F(RemoteCredentials, TheEnvironmentHasPriority) {
  cloud_.variables["AWS_ACCESS_KEY_ID"] = "ENV";
  cloud_.variables["AWS_SECRET_ACCESS_KEY"] = "s";
  cloud_.variables["AWS_ROLE_ARN"] = cloud_.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/x";
  EXPECT_EQ(FindAwsCredentials(cloud_.surroundings())->key, "ENV");
}

// A source that is unavailable for an hour gets few requests. It is used again at most 132 s after its return: two
// minutes plus a random tenth.
TEST(RefreshWait, GrowsToTwoMinutes) {
  absl::Duration time;
  int attempts = 0;
  for (; time < absl::Hours(1); ++attempts) time += RefreshWait(absl::Seconds(10), /*has_copy=*/true, attempts, 0.5);
  EXPECT_NEAR(attempts, 33, 2);
  EXPECT_EQ(RefreshWait(absl::Seconds(10), /*has_copy=*/true, 0, 0), absl::Seconds(9));
  EXPECT_EQ(RefreshWait(absl::Seconds(10), /*has_copy=*/true, 1000, 1), absl::Seconds(132));
  EXPECT_EQ(RefreshWait(absl::Minutes(10), /*has_copy=*/true, 5, 0.5), absl::Minutes(10));
}

// A server that waits for its first copy opens no port, so a long interval must not delay the next attempt.
TEST(RefreshWait, StartsAtOneSecondBeforeTheFirstCopy) {
  for (const absl::Duration interval : {absl::Seconds(1), absl::Hours(1)}) {
    const auto wait = [&](int failures) { return RefreshWait(interval, /*has_copy=*/false, failures, 0.5); };
    EXPECT_EQ(wait(1), absl::Seconds(1));
    EXPECT_EQ(wait(2), absl::Seconds(2));
    EXPECT_EQ(wait(3), absl::Seconds(4));
    EXPECT_EQ(wait(100), absl::Minutes(2));
  }
}

TEST(RemoteAddress, PlainHttpIsAllowedOnlyForThisMachine) {
  EXPECT_EQ(FaultOfRemote("http://127.0.0.1:8000/models"), "");
  EXPECT_EQ(FaultOfRemote("https://models.example/x"), "");
  EXPECT_EQ(FaultOfRemote("http://models.example/x"),
            "\"http://models.example/x\" is not encrypted; use https:// (http:// only for localhost)");
}

}  // namespace
}  // namespace vitrine
