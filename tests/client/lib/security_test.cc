// SPDX-License-Identifier: Apache-2.0
// Tests TLS, tokens and sockets with real servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "client/lib/channel.h"
#include "tests/client/environment.h"
#include "tests/client/lib/certificates.h"
#include "tests/client/lib/small_server.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

grpc::Status ClassifyAny(const v1::ClassifyRequest& request, v1::ClassifyResponse* response, grpc::ServerContext*) {
  *response = AnswerTo(request);
  return grpc::Status::OK;
}

// Answers with the call's "authorization" header as the label.
grpc::Status AnswerWithToken(const v1::ClassifyRequest&, v1::ClassifyResponse* response, grpc::ServerContext* context) {
  std::string told;
  for (const auto& [name, value] : context->client_metadata()) {
    if (name == "authorization") told += "[" + std::string(value.data(), value.size()) + "]";
  }
  response->add_predictions()->set_label(told);
  return grpc::Status::OK;
}

class Tls : public testing::Test {
 protected:
  static void SetUpTestSuite() { certificates_ = new Certificates; }
  static void TearDownTestSuite() { delete certificates_; }

  static ClientOptions To(const SmallServer& server) {
    ClientOptions options{.address = server.address()};
    options.tls = TlsOptions{.ca_file = certificates_->Path("ca.pem"), .server_name = "vitrine.test"};
    return options;
  }
  static std::string Refusal(const ClientOptions& options) {
    return std::string(Client::Connect(options).status().message());
  }

  static const Certificates* certificates_;
};
const Certificates* Tls::certificates_ = nullptr;

TEST_F(Tls, ConnectsToAServerWithATrustedCertificate) {
  const SmallServer server({.classify = ClassifyAny}, 64 << 20, certificates_->OfServer());
  const auto client = Client::Connect(To(server));
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->Classify(RequestWith("7"))->predictions(0).index(), 7);
}

TEST_F(Tls, DescribesTheFaultOfTheServersCertificate) {
  const SmallServer server({.classify = ClassifyAny}, 64 << 20, certificates_->OfServer());
  ClientOptions options = To(server);
  const std::string nobody = "no server answers at " + server.address() + ": ";
  options.tls->server_name = "other.test";
  EXPECT_EQ(Refusal(options), nobody + "its certificate is for another name than other.test");
  options.tls->server_name = "";
  EXPECT_EQ(Refusal(options), nobody + "its certificate is for another name");
  options = To(server);
  options.tls->ca_file = certificates_->Path("other.pem");
  EXPECT_EQ(Refusal(options), nobody + options.tls->ca_file + " has no CA that signed its certificate");
  options.tls->ca_file = "";
  EXPECT_EQ(Refusal(options), nobody + "its certificate is not signed by a CA that this system trusts");
  EXPECT_TRUE(IsLasting(Client::Connect(options).status()));
}

TEST_F(Tls, SaysIfOneSideDoesNotUseTls) {
  const SmallServer tls({.classify = ClassifyAny}, 64 << 20, certificates_->OfServer());
  EXPECT_EQ(Refusal({.address = tls.address()}),
            "no server answers at " + tls.address() + ": it closed the connection; it may require TLS");
  EXPECT_FALSE(IsLasting(Client::Connect({.address = tls.address()}).status()))
      << "a server that restarts does the same";
  const SmallServer plain({.classify = ClassifyAny});
  EXPECT_EQ(Refusal(To(plain)), "no server answers at " + plain.address() + ": it does not speak TLS");
  EXPECT_TRUE(IsLasting(Client::Connect(To(plain)).status()));
}

// gRPC reports a connection closed by the peer with one of several texts, depending on when it notices the closure.
TEST_F(Tls, EveryWordingOfAClosedConnectionHasItsCause) {
  for (const char* detail : {"Endpoint read failed", "Socket closed", "recvmsg:Connection reset by peer"}) {
    EXPECT_EQ(CauseOf(detail, {}), ": it closed the connection; it may require TLS") << detail;
    EXPECT_EQ(CauseOf(detail, {.tls = TlsOptions{}}),
              ": it ended the TLS handshake; it may require a client certificate")
        << detail;
  }
}

TEST_F(Tls, SendsTheClientsCertificate) {
  const SmallServer server({.classify = ClassifyAny}, 64 << 20, certificates_->OfServer(true));
  ClientOptions options = To(server);
  EXPECT_EQ(Refusal(options), "no server answers at " + server.address() +
                                  ": it ended the TLS handshake; it may require a client certificate");
  options.tls->certificate_file = certificates_->Path("stranger.pem");
  options.tls->key_file = certificates_->Path("stranger.key");
  EXPECT_EQ(Refusal(options), "no server answers at " + server.address() + ": it does not accept the certificate " +
                                  options.tls->certificate_file);
  options.tls->certificate_file = certificates_->Path("client.pem");
  options.tls->key_file = certificates_->Path("client.key");
  const auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE((*client)->Classify(RequestWith("7")).ok());
}

TEST_F(Tls, NamesTheInvalidFile) {
  const ScratchFolder folder;
  const SmallServer server({.classify = ClassifyAny}, 64 << 20, certificates_->OfServer());
  const auto refusal = [&](const std::string& ca, const std::string& certificate, const std::string& key) {
    ClientOptions options = To(server);
    options.tls = TlsOptions{ca, certificate, key, "vitrine.test"};
    return Refusal(options);
  };
  const std::string ca = certificates_->Path("ca.pem"), mine = certificates_->Path("client.pem");
  EXPECT_EQ(refusal(folder.Path("none.pem"), "", ""), folder.Path("none.pem") + ": no such file or directory");
  EXPECT_THAT(refusal(folder.path().string(), "", ""), HasSubstr(folder.path().string() + ": is a directory"));
  folder.Write("text.pem", "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n");
  EXPECT_THAT(refusal(folder.Path("text.pem"), "", ""), HasSubstr("text.pem holds no certificate in PEM form"));
  EXPECT_THAT(refusal(certificates_->Path("ca.key"), "", ""), HasSubstr("ca.key holds no certificate in PEM form"));
  EXPECT_THAT(refusal(ca, mine, ""), HasSubstr("must be given together; one is missing"));
  EXPECT_THAT(refusal(ca, "", certificates_->Path("client.key")), HasSubstr("must be given together; one is missing"));
  EXPECT_THAT(refusal(ca, mine, mine), HasSubstr("client.pem holds no private key"));
  EXPECT_EQ(refusal(ca, mine, certificates_->Path("stranger.key")),
            certificates_->Path("stranger.key") + " is not the key of " + mine);
  certificates_->MakeExpired();
  EXPECT_EQ(refusal(ca, certificates_->Path("expired.pem"), certificates_->Path("client.key")),
            certificates_->Path("expired.pem") + " has expired; get a new certificate");
}

TEST_F(Tls, ATokenIsSentOnlyOverTls) {
  const SmallServer server({.classify = AnswerWithToken}, 64 << 20, certificates_->OfServer());
  ClientOptions options = To(server);
  options.token = "secret\n";
  const auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->Classify(RequestWith("7"))->predictions(0).label(), "[Bearer secret]");
  options.tls.reset();
  for (const char* far :
       {"192.0.2.1:8500", "dns:///192.0.2.1:8500", "127.0.0.1:1,192.0.2.1:8500", "ipv4:192.0.2.1:1"}) {
    options.address = far;
    EXPECT_THAT(Refusal(options),
                HasSubstr("the token would cross the network to " + options.address + " unencrypted"));
  }
}

TEST(Token, IsSentOverLoopbackAndSocketsWithoutTls) {
  const ScratchFolder folder;
  folder.Write("token", "  secret\n");
  for (const std::string& listen : {std::string("127.0.0.1:0"), "unix:" + folder.Path("socket")}) {
    const SmallServer server({.classify = AnswerWithToken}, 64 << 20, nullptr, listen);
    ClientOptions options{.address = server.address()};
    EXPECT_EQ((*Client::Connect(options))->Classify(RequestWith("7"))->predictions(0).label(), "");
    options.token_file = folder.Path("token");
    const auto client = Client::Connect(options);
    ASSERT_TRUE(client.ok()) << client.status();
    EXPECT_EQ((*client)->Classify(RequestWith("7"))->predictions(0).label(), "[Bearer secret]") << listen;
  }
}

TEST(Token, CallsOnThisMachineUseNoProxy) {
  const Environment environment({{"grpc_proxy", "http://127.0.0.1:1"},  // a port without a listener
                                 {"http_proxy", "http://127.0.0.1:1"},
                                 {"no_grpc_proxy", nullptr},
                                 {"no_proxy", nullptr}});
  const SmallServer server({.classify = AnswerWithToken});
  const std::string port = server.address().substr(server.address().rfind(':'));
  for (const std::string& address :
       {server.address(), "localhost" + port, "dns:///localhost" + port, "ipv4:127.0.0.1" + port}) {
    const auto client = Client::Connect({.address = address, .token = "secret"});
    ASSERT_TRUE(client.ok()) << address << ": " << client.status();
    EXPECT_EQ((*client)->Classify(RequestWith("7"))->predictions(0).label(), "[Bearer secret]");
  }
}

TEST(Token, AnErrorDescribesTheFaultWithoutTheToken) {
  const ScratchFolder folder;
  const SmallServer server({.classify = AnswerWithToken});
  const auto refusal = [&](const std::string& text) {
    ClientOptions options{.address = server.address()};
    options.token_file = folder.Write("token", text);
    return Client::Connect(options).status().ToString();
  };
  EXPECT_THAT(refusal(""), HasSubstr("the token in " + folder.Path("token") + " is empty"));
  EXPECT_THAT(refusal(" \n"), HasSubstr(" is empty"));
  EXPECT_THAT(refusal("two words"), HasSubstr("has spaces or non-ASCII characters"));
  EXPECT_THAT(refusal("two words"), testing::Not(HasSubstr("words")));
  EXPECT_THAT(refusal(std::string(16385, 'x')), HasSubstr("more than 16384 bytes"));
  EXPECT_EQ(refusal("x" + std::string(16383, '\n')), "OK") << "a token file of the maximum size must be accepted";
  ClientOptions both{.address = server.address()};
  both.token = "a";
  both.token_file = folder.Path("token");
  EXPECT_THAT(Client::Connect(both).status().ToString(), HasSubstr("give only one"));
  both.token = "";
  both.token_file = folder.Path("none");
  EXPECT_THAT(Client::Connect(both).status().ToString(), HasSubstr("none: no such file"));
}

TEST(Sockets, AnErrorNamesTheSocket) {
  const ScratchFolder folder;
  const std::string address = "unix:" + folder.Path("socket");
  const absl::Status status = Client::Connect({.address = address}).status();
  EXPECT_EQ(status.message(), "no server answers at " + address + ": there is no such socket");
}

TEST(SeveralServers, AHostWithoutAnAddressIsNamed) {
  const absl::Status status = Client::Connect({.address = "127.0.0.1:1,no-such-host.invalid:1"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("no address of no-such-host.invalid: "));
  ClientOptions tls{.address = "127.0.0.1:1,127.0.0.1:2"};
  tls.tls.emplace();
  EXPECT_THAT(Client::Connect(tls).status().ToString(), HasSubstr("need one name that is in all their certificates"));
}

}  // namespace
}  // namespace vitrine
