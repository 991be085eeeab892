// SPDX-License-Identifier: Apache-2.0
// Tests TLS of connections: versions, ALPN, session resumption, client certificates, handshake threads, and the
// reported reasons of failed handshakes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/http/address_limits.h"
#include "common/http/loop.h"
#include "common/http/server.h"
#include "tests/common/http1_client.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A certificate with its key. The issuer is the certificate itself or a CA.
struct Certified {
  Certified(const std::string& name, const Certified* issuer, int seconds = 3600) {
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), seconds);
    X509_set_pubkey(certificate.get(), key.get());
    X509_NAME* subject = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1,
                               -1, 0);
    X509_set_issuer_name(certificate.get(),
                         issuer == nullptr ? subject : X509_get_subject_name(issuer->certificate.get()));
    if (issuer == nullptr) {
      X509_EXTENSION* is_ca = X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
      X509_add_ext(certificate.get(), is_ca, -1);
      X509_EXTENSION_free(is_ca);
    }
    EXPECT_GT(X509_sign(certificate.get(), (issuer == nullptr ? *this : *issuer).key.get(), EVP_sha256()), 0);
  }

  // Returns the PEM text of the certificate or of the key.
  std::string Pem(bool of_key) const {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
    if (of_key) {
      PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    } else {
      PEM_write_bio_X509(bio.get(), certificate.get());
    }
    const char* text = nullptr;
    const auto size = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<size_t>(size)};
  }

  std::unique_ptr<X509, decltype(&X509_free)> certificate{X509_new(), &X509_free};
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{EVP_EC_gen("P-256"), &EVP_PKEY_free};
};

// A TLS connection with a blocking socket. Configure it with `context` or `tls` before Connect.
class TlsClient {
 public:
  explicit TlsClient(const std::string& address) : socket_(address) {}

  void Present(const Certified& certified) {
    SSL_use_certificate(tls(), certified.certificate.get());
    SSL_use_PrivateKey(tls(), certified.key.get());
  }
  bool Connect() { return SSL_connect(tls()) == 1; }
  void Send(const std::string& bytes) { (void)SSL_write(tls(), bytes.data(), static_cast<int>(bytes.size())); }
  // Reads until the received bytes end with `end`, or the server closes the connection.
  std::string ReadUntil(const std::string& end) {
    std::string all;
    char bytes[4096];
    for (int got = 1; got > 0 && !all.ends_with(end); all.append(bytes, static_cast<size_t>(got > 0 ? got : 0))) {
      got = SSL_read(tls(), bytes, sizeof(bytes));
    }
    return all;
  }
  // Returns the protocol that the server has chosen by ALPN from `offered` (each name after a byte with its length).
  std::string Negotiate(const std::string& offered) {
    SSL_set_alpn_protos(tls(), reinterpret_cast<const unsigned char*>(offered.data()),
                        static_cast<unsigned>(offered.size()));
    EXPECT_TRUE(Connect());
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(tls(), &chosen, &size);
    return {reinterpret_cast<const char*>(chosen), size};
  }
  SSL* tls() {
    if (tls_ == nullptr) {
      tls_.reset(SSL_new(context_.get()));
      SSL_set_fd(tls_.get(), socket_.descriptor());
    }
    return tls_.get();
  }

 private:
  Http1Client socket_;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{SSL_CTX_new(TLS_client_method()), &SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_{nullptr, &SSL_free};
};

class HttpTls : public ::testing::Test {
 protected:
  // Starts a server that answers each request with its body, or with "here".
  void Start(bool wants_certificates) {
    const auto pem = std::make_shared<const TlsPem>(TlsPem{.certificate = server_certificate_.Pem(false),
                                                           .key = server_certificate_.Pem(true),
                                                           .client_ca = wants_certificates ? ca_.Pem(false) : ""});
    HttpServerOptions options = {.listen = "127.0.0.1:0", .tls = [pem] { return pem; }, .observer = &closed_};
    absl::StatusOr<std::unique_ptr<HttpServer>> server =
        HttpServer::Start(options, [](const std::shared_ptr<HttpRequest>&) {
          return HttpHandling::Read(
              [](const absl::StatusOr<std::string>& body, const std::shared_ptr<HttpReply>& reply) {
                reply->Send([&] { return HttpResponse{.body = body.ok() && !body->empty() ? *body : "here"}; });
              });
        });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::string address() const { return server_->address(); }
  // Returns why the server closed the connection of a client that does not complete its handshake.
  std::string FailureOf(TlsClient& client) {
    EXPECT_FALSE(client.Connect() && client.ReadUntil("here").ends_with("here"));
    return closed_.Await();
  }

  const Certified ca_{"CA", nullptr};
  const Certified server_certificate_{"server", &ca_};
  LastClose closed_;
  std::unique_ptr<HttpServer> server_;
};

constexpr char kGetHere[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

TEST_F(HttpTls, AlpnChoosesTheVersionOfHttp) {
  Start(false);
  const auto chosen = [&](const std::string& offered) { return TlsClient(address()).Negotiate(offered); };
  EXPECT_EQ(chosen("\x08http/1.1\x02h2"), "h2");
  EXPECT_EQ(chosen("\x08http/1.1"), "http/1.1");
  EXPECT_EQ(chosen("\x03"
                   "foo"),
            "");
  TlsClient without(address());
  EXPECT_EQ(without.Negotiate(""), "");
  without.Send(kGetHere);
  EXPECT_THAT(without.ReadUntil("here"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpTls, ABodyOfManyRecordsIsReadCompletely) {
  Start(false);
  TlsClient client(address());
  ASSERT_TRUE(client.Connect());
  const std::string body = std::string(1'000'000, 'x') + "end";
  client.Send(absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  EXPECT_THAT(client.ReadUntil("end"), EndsWith(body));
}

TEST_F(HttpTls, ASecondHandshakeResumesTheSession) {
  Start(false);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    SSL_SESSION* session = nullptr;
    for (const bool is_second : {false, true}) {
      TlsClient client(address());
      SSL_set_max_proto_version(client.tls(), version);
      if (is_second) SSL_set_session(client.tls(), session);
      ASSERT_TRUE(client.Connect());
      EXPECT_EQ(SSL_session_reused(client.tls()), is_second ? 1 : 0) << version;
      client.Send(kGetHere);
      EXPECT_THAT(client.ReadUntil("here"), EndsWith("here"));  // TLS 1.3 sends the ticket after the handshake
      SSL_SESSION_free(session);
      session = SSL_get1_session(client.tls());
      SSL_shutdown(client.tls());  // without it, OpenSSL would not resume the session
    }
    SSL_SESSION_free(session);
  }
}

TEST_F(HttpTls, TheLeastVersionIsTls12) {
  Start(false);
  TlsClient old(address()), current(address());
  SSL_set_security_level(old.tls(), 0);
  SSL_set_min_proto_version(old.tls(), TLS1_VERSION);
  SSL_set_max_proto_version(old.tls(), TLS1_1_VERSION);
  EXPECT_EQ(FailureOf(old), "tls: unsupported protocol");
  SSL_set_max_proto_version(current.tls(), TLS1_2_VERSION);
  EXPECT_TRUE(current.Connect());
}

TEST_F(HttpTls, AFailedHandshakeReportsItsReason) {
  Start(true);
  TlsClient no_certificate(address());
  EXPECT_EQ(FailureOf(no_certificate), "tls: peer did not return a certificate");
  TlsClient expired(address());
  expired.Present(Certified("client", &ca_, -60));
  EXPECT_EQ(FailureOf(expired), "tls: certificate verify failed: certificate has expired");
  TlsClient distrusts(address());
  SSL_set_verify(distrusts.tls(), SSL_VERIFY_PEER, nullptr);
  EXPECT_EQ(FailureOf(distrusts), "tls: tlsv1 alert unknown ca");
  TlsClient other_ciphers(address());
  SSL_set_max_proto_version(other_ciphers.tls(), TLS1_2_VERSION);
  SSL_set_cipher_list(other_ciphers.tls(), "ECDHE-RSA-AES128-GCM-SHA256");
  EXPECT_EQ(FailureOf(other_ciphers), "tls: no shared cipher");
}

// Load balancers probe a port by connecting and disconnecting, so this must not count as a TLS failure.
TEST_F(HttpTls, AClientThatSendsNothingOnlyDisconnects) {
  Start(false);
  Http1Client(address()).HangUp();
  EXPECT_EQ(closed_.Await(), "client");
}

TEST_F(HttpTls, PlainHttpGetsASentence) {
  Start(false);
  for (const char* begin :
       {"GET / HTTP/1.1", "DELETE /v1 HTTP/1.1", "OPTIONS * HTTP/1.1", "PATCH / HTTP/1.0", "CONNECT x:1 HTTP/1.1"}) {
    Http1Client client(address());
    client.Send(absl::StrCat(begin, "\r\nHost: x\r\n\r\n", std::string(10'000, 'x')));
    EXPECT_THAT(client.ReadUntil("here\n"), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("this port speaks HTTPS")))
        << begin;
    EXPECT_EQ(client.Read(), "") << begin << ": the connection was reset";
    client.HangUp();
    EXPECT_EQ(closed_.Await(), "tls: the client sent HTTP without TLS");
  }
}

// gRPC clients interpret a connection that is closed without a reset as missing TLS.
TEST_F(HttpTls, PlainHttp2IsClosedWithoutAReset) {
  Start(false);
  Http1Client client(address());
  client.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_EQ(client.Read(), "");
  client.HangUp();
  EXPECT_EQ(closed_.Await(), "tls: the client sent HTTP without TLS");
}

TEST_F(HttpTls, AConnectionEndsWithTheCertificateOfItsClient) {
  Start(true);
  TlsClient client(address());
  client.Present(Certified("client", &ca_, 8));
  ASSERT_TRUE(client.Connect());
  client.Send(kGetHere);
  EXPECT_THAT(client.ReadUntil("here"), EndsWith("here"));
  EXPECT_EQ(client.ReadUntil("here"), "");
  EXPECT_EQ(closed_.Await(), "certificate");
}

// Starts the thread for TLS handshakes only after the event loop has answered a plaintext connection.
TEST_F(HttpTls, AHandshakeDoesNotDelayOtherConnections) {
  const auto context =
      TlsContext::Make({.certificate = server_certificate_.Pem(false), .key = server_certificate_.Pem(true)});
  ASSERT_TRUE(context.ok()) << context.status();
  const auto common = std::make_shared<HttpCommon>();
  common->handler = [](const auto&) { return HttpHandling::Answer({.body = "here"}); };
  common->received = std::make_shared<ByteBudget>(1 << 20);
  common->addresses = std::make_unique<AddressLimits>(common->options.abuse);
  common->tls = [tls = *context] { return tls; };
  common->handshakers = std::make_unique<Workers>(Workers::Options{.name = "handshake", .threads = 1});
  const auto loop = HttpLoop::Make(common);
  ASSERT_TRUE(loop.ok() && (*loop)->Start(nullptr).ok());
  const auto connect = [&](sa_family_t family) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    HttpLoop::Accepted accepted = {.socket = FileDescriptor(ends[0])};
    accepted.address.ss_family = family;
    (*loop)->Adopt(std::move(accepted));
    return FileDescriptor(ends[1]);
  };
  const FileDescriptor encrypted = connect(AF_INET), plain = connect(AF_UNIX);
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> client(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(client.get()), &SSL_free);
  SSL_set_fd(tls.get(), encrypted.get());
  EXPECT_EQ(SSL_connect(tls.get()), -1);  // sends the ClientHello
  for (const FileDescriptor* const end : {&encrypted, &plain}) fcntl(end->get(), F_SETFL, 0);
  char bytes[4096];
  for (int i = 0; i < 2; ++i) {  // before the second answer, the loop has also noticed the ClientHello
    EXPECT_GT(send(plain.get(), kGetHere, sizeof(kGetHere) - 1, MSG_NOSIGNAL), 0);
    EXPECT_GT(recv(plain.get(), bytes, sizeof(bytes), 0), 0);
  }
  EXPECT_EQ(recv(encrypted.get(), bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT), -1);
  EXPECT_TRUE(common->handshakers->Start().ok());
  EXPECT_EQ(SSL_connect(tls.get()), 1);
}

}  // namespace
}  // namespace vitrine
