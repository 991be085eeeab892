// SPDX-License-Identifier: Apache-2.0
// Tests TLS of connections: versions, ALPN, session resumption, client certificates and their end, handshake threads,
// and the reported reasons of failed handshakes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/http/address_limits.h"
#include "common/http/loop.h"
#include "common/http/server.h"
#include "tests/common/http1_client.h"
#include "tests/common/tls_client.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kGetHere[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

// HTTP/2 up to a request for "/distrust" whose body does not follow.
constexpr char kDistrust[] =
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    "\0\0\0\x04\0\0\0\0\0"               // SETTINGS
    "\0\0\x10\x01\x04\0\0\0\x01"         // HEADERS of stream 1, without its end
    "\x83\x87\x04\x09/distrust\x41\x01"  // POST, https, :path, :authority
    "x";

// Ignores SIGPIPE, which OpenSSL raises if a client writes to a connection that the server has closed. SSL_read writes
// too: it sends an alert if the server has disconnected without one.
class HttpTls : public ::testing::Test {
 protected:
  HttpTls() : on_broken_pipe_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~HttpTls() override { std::signal(SIGPIPE, on_broken_pipe_); }

  // Starts a server that answers each request with its body, or with "here".
  void Start(bool wants_certificates) {
    const auto pem = std::make_shared<const TlsPem>(TlsPem{.certificate = server_certificate_.Pem(false),
                                                           .key = server_certificate_.Pem(true),
                                                           .client_ca = wants_certificates ? ca_.Pem(false) : ""});
    auto other = std::make_shared<TlsPem>(*pem);
    other->client_ca = Certified("other CA", nullptr).Pem(false);
    HttpServerOptions options = {.listen = "127.0.0.1:0",
                                 .age_grace = absl::Milliseconds(200),
                                 .tls = [=, this] { return distrusts_ ? other : pem; },
                                 .observer = &closed_};
    absl::StatusOr<std::unique_ptr<HttpServer>> server =
        HttpServer::Start(options, [this](const std::shared_ptr<HttpRequest>& request) {
          if (request->path() == "/distrust") distrusts_ = true;
          return HttpHandling::Read(
              [](const absl::StatusOr<std::string>& body, const std::shared_ptr<HttpReply>& reply) {
                reply->Send([&] { return HttpResponse{.body = body.ok() && !body->empty() ? *body : "here"}; });
              });
        });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::string address() const { return server_->address(); }
  // Connects twice, the second time with the session of the first connection. Returns true if it was resumed.
  bool Resumes(int version, const Certified* certified) {
    std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> session(nullptr, &SSL_SESSION_free);
    bool is_resumed = false;
    for (const bool is_second : {false, true}) {
      TlsClient client(address());
      SSL_set_max_proto_version(client.tls(), version);
      if (certified != nullptr) client.Present(*certified);
      if (is_second) SSL_set_session(client.tls(), session.get());
      EXPECT_TRUE(client.Connect());
      is_resumed = SSL_session_reused(client.tls()) == 1;
      EXPECT_TRUE(is_second || !is_resumed);
      client.Send(kGetHere);
      EXPECT_THAT(client.ReadUntil("here"), EndsWith("here"));  // TLS 1.3 sends the ticket after the handshake
      session.reset(SSL_get1_session(client.tls()));
      SSL_shutdown(client.tls());  // without it, OpenSSL would not resume the session
    }
    return is_resumed;
  }
  // Returns why the server closed the connection of a client that does not complete its handshake.
  std::string FailureOf(TlsClient& client) {
    EXPECT_FALSE(client.Connect() && client.ReadUntil("here").ends_with("here"));
    return closed_.Await();
  }

  void (*const on_broken_pipe_)(int);
  const Certified ca_{"CA", nullptr};
  const Certified server_certificate_{"server", &ca_};
  LastClose closed_;
  std::atomic<bool> distrusts_ = false;  // true: the authority of the clients is replaced
  std::unique_ptr<HttpServer> server_;
};

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
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) EXPECT_TRUE(Resumes(version, nullptr)) << version;
}

// A resumed session would not verify the client's certificate again.
TEST_F(HttpTls, AServerThatVerifiesClientsResumesNoSession) {
  const Certified certified("client", &ca_);
  Start(true);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) EXPECT_FALSE(Resumes(version, &certified)) << version;
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

// While a request is open, the authority of the client's certificate is removed. The first GOAWAY already names the
// last request, so that the server begins no further ones.
TEST_F(HttpTls, AClientThatIsNoLongerTrustedBeginsNoFurtherRequests) {
  const Certified certified("client", &ca_);
  Start(true);
  TlsClient client(address());
  client.Present(certified);
  ASSERT_EQ(client.Negotiate("\x02h2"), "h2");
  client.Send(std::string(kDistrust, sizeof(kDistrust) - 1));
  const std::string received = client.ReadUntil("no such end");
  EXPECT_EQ(closed_.Await(), "certificate");
  std::vector<int> last_streams;
  for (size_t at = 0; at + 13 <= received.size();) {
    const auto* const frame = reinterpret_cast<const unsigned char*>(received.data() + at);
    if (frame[3] == 7) last_streams.push_back(frame[9] << 24 | frame[10] << 16 | frame[11] << 8 | frame[12]);
    at += 9 + static_cast<size_t>(frame[0] << 16 | frame[1] << 8 | frame[2]);
  }
  EXPECT_THAT(last_streams, ElementsAre(1));
}

// A loop without a listening socket, so that the test can choose the TLS context and the start of the handshakes.
class HttpTlsLoop : public HttpTls {
 protected:
  // Ends the threads in the order of HttpServer: a handshake thread may be the last to release its connection.
  ~HttpTlsLoop() override {
    if (loop_ == nullptr) return;
    loop_->StartEnding(absl::ZeroDuration());
    loop_->Join();
    common_->handshakers.reset();
  }
  void StartLoop(bool wants_certificates) {
    const auto context = TlsContext::Make({.certificate = server_certificate_.Pem(false),
                                           .key = server_certificate_.Pem(true),
                                           .client_ca = wants_certificates ? ca_.Pem(false) : ""});
    ASSERT_TRUE(context.ok()) << context.status();
    context_ = *context;
    const auto other = TlsContext::Make({.certificate = server_certificate_.Pem(false),
                                         .key = server_certificate_.Pem(true),
                                         .client_ca = Certified("other CA", nullptr).Pem(false)});
    ASSERT_TRUE(other.ok()) << other.status();
    other_context_ = *other;
    common_->options.observer = &closed_;
    common_->handler = [this](const auto& request) {
      ++requests_;
      if (request->path() == "/distrust") {
        distrusts_ = true;
        return HttpHandling::Read([](const auto&, const auto&) {});
      }
      return HttpHandling::Answer({.body = "here"});
    };
    common_->received = std::make_shared<ByteBudget>(1 << 20);
    common_->addresses = std::make_unique<AddressLimits>(common_->options.abuse);
    common_->tls = [this] { return Current(); };
    common_->handshakers = std::make_unique<Workers>(Workers::Options{.name = "handshake", .threads = 1});
    auto loop = HttpLoop::Make(common_);
    ASSERT_TRUE(loop.ok() && (*loop)->Start(nullptr).ok());
    loop_ = *std::move(loop);
  }
  // Connects a client whose address is of this family: TLS for AF_INET, plaintext for AF_UNIX.
  FileDescriptor Connect(sa_family_t family) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    HttpLoop::Accepted accepted = {.socket = FileDescriptor(ends[0])};
    accepted.address.ss_family = family;
    loop_->Adopt(std::move(accepted));
    return FileDescriptor(ends[1]);
  }

  // Connects a client that has a certificate, and completes the handshake.
  std::unique_ptr<TlsClient> ConnectWithCertificate() {
    sockets_.push_back(Connect(AF_INET));
    fcntl(sockets_.back().get(), F_SETFL, 0);
    auto client = std::make_unique<TlsClient>(sockets_.back().get());
    client->Present(certified_);
    EXPECT_TRUE(client->Connect());
    return client;
  }
  // Waits until the loop checks a certificate after the test has set distrusts_. Bytes that the client sends
  // afterwards arrive after the check.
  void AwaitCheck() { has_checked_.get_future().wait(); }

  const std::shared_ptr<HttpCommon> common_ = std::make_shared<HttpCommon>();
  std::shared_ptr<const TlsContext> context_, other_context_;
  const Certified certified_{"client", &ca_};
  std::vector<FileDescriptor> sockets_;
  std::atomic<int> requests_ = 0;
  bool is_checked_ = false;
  std::promise<void> has_checked_;
  std::unique_ptr<HttpLoop> loop_;

 private:
  // Returns the context for new connections and for checks. Called by the loop's thread.
  std::shared_ptr<const TlsContext> Current() {
    if (!distrusts_) return context_;
    if (!std::exchange(is_checked_, true)) has_checked_.set_value();
    return other_context_;
  }
};

// Starts the thread for TLS handshakes only after the event loop has answered a plaintext connection.
TEST_F(HttpTlsLoop, AHandshakeDoesNotDelayOtherConnections) {
  StartLoop(false);
  const FileDescriptor encrypted = Connect(AF_INET), plain = Connect(AF_UNIX);
  TlsClient client(encrypted.get());
  EXPECT_FALSE(client.Connect());  // sends the ClientHello
  for (const FileDescriptor* const end : {&encrypted, &plain}) fcntl(end->get(), F_SETFL, 0);
  char bytes[4096];
  for (int i = 0; i < 2; ++i) {  // before the second answer, the loop has also noticed the ClientHello
    EXPECT_GT(send(plain.get(), kGetHere, sizeof(kGetHere) - 1, MSG_NOSIGNAL), 0);
    EXPECT_GT(recv(plain.get(), bytes, sizeof(bytes), 0), 0);
  }
  EXPECT_EQ(recv(encrypted.get(), bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT), -1);
  EXPECT_TRUE(common_->handshakers->Start().ok());
  EXPECT_TRUE(client.Connect());
}

// A client may delay the last message of the handshake until its certificate has expired. Here, OpenSSL verifies the
// certificate with a clock that is two minutes late.
TEST_F(HttpTlsLoop, ACertificateThatExpiresDuringTheHandshakeIsRefused) {
  StartLoop(true);
  X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(context_->get()), std::time(nullptr) - 120);
  EXPECT_TRUE(common_->handshakers->Start().ok());
  const FileDescriptor socket = Connect(AF_INET);
  fcntl(socket.get(), F_SETFL, 0);
  TlsClient client(socket.get());
  client.Present(Certified("client", &ca_, -60));
  EXPECT_TRUE(client.Connect());
  EXPECT_EQ(client.ReadUntil("here"), "");
  EXPECT_EQ(closed_.Await(), "certificate");
}

// After the handshake, a client that does not choose HTTP/2 by ALPN may stay silent until its certificate ends.
TEST_F(HttpTlsLoop, TheFirstRequestNeedsAValidCertificate) {
  StartLoop(true);
  EXPECT_TRUE(common_->handshakers->Start().ok());
  const std::unique_ptr<TlsClient> client = ConnectWithCertificate();
  distrusts_ = true;
  client->Send(kGetHere);
  EXPECT_EQ(client->ReadUntil("here"), "");
  EXPECT_EQ(closed_.Await(), "certificate");
  EXPECT_EQ(requests_, 0);
}

// HTTP/1: a request whose headers are incomplete when the certificate ends is not accepted any more.
TEST_F(HttpTlsLoop, HeadersThatHaveBegunEndWithTheCertificate) {
  StartLoop(true);
  EXPECT_TRUE(common_->handshakers->Start().ok());
  const std::unique_ptr<TlsClient> client = ConnectWithCertificate();
  client->Send(absl::StrCat(kGetHere, "GET / HTTP/1.1\r\nHo"));
  EXPECT_THAT(client->ReadUntil("here"), EndsWith("here"));
  distrusts_ = true;
  AwaitCheck();
  client->Send("st: x\r\n\r\n");
  EXPECT_EQ(client->ReadUntil("here"), "");
  EXPECT_EQ(closed_.Await(), "certificate");
  EXPECT_EQ(requests_, 1);
}

// HTTP/2: the client has been asked to leave because of max_age, and may begin requests for up to a second. This time
// ends early, because the same tick finds that the certificate is no longer valid.
TEST_F(HttpTlsLoop, NoRequestBeginsAfterTheCertificateAlthoughTheClientWasLeaving) {
  common_->options.max_age = absl::ZeroDuration();
  common_->options.age_grace = absl::Milliseconds(200);
  StartLoop(true);
  EXPECT_TRUE(common_->handshakers->Start().ok());
  const std::unique_ptr<TlsClient> client = ConnectWithCertificate();
  client->Send(std::string(kDistrust, sizeof(kDistrust) - 1));
  AwaitCheck();
  constexpr char kSecond[] =
      "\0\0\x06\x01\x05\0\0\0\x03"  // HEADERS of stream 3, with its end
      "\x82\x87\x84\x41\x01"        // GET, https, "/", :authority
      "x";
  client->Send(std::string(kSecond, sizeof(kSecond) - 1));
  client->ReadUntil("no such end");
  EXPECT_EQ(closed_.Await(), "certificate");
  EXPECT_EQ(requests_, 1);
}

}  // namespace
}  // namespace vitrine
