// SPDX-License-Identifier: Apache-2.0
#include "common/http/network/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/failed_allocation.h"
#include "common/http/network/byte_stream.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

using BioOwner = std::unique_ptr<BIO, decltype(&BIO_free)>;
using X509Owner = std::unique_ptr<X509, decltype(&X509_free)>;

absl::Status TlsFault(const char* what) {
  char reason[256] = "";
  ERR_error_string_n(ERR_get_error(), reason, sizeof(reason));
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat("TLS: ", what, ": ", reason));
}

BioOwner OfText(const std::string& text) {
  BioOwner bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
  if (bio == nullptr) FailAllocation();
  return bio;
}

X509Owner NextCertificate(BIO* from) {
  X509Owner next(PEM_read_bio_X509(from, nullptr, nullptr, nullptr), &X509_free);
  if (next == nullptr) ERR_clear_error();
  return next;
}

absl::Status UseCertificate(SSL_CTX* context, const TlsPem& pem) {
  const BioOwner chain = OfText(pem.certificate);
  const X509Owner own = NextCertificate(chain.get());
  if (own == nullptr || SSL_CTX_use_certificate(context, own.get()) != 1) return TlsFault("the certificate");
  for (X509Owner next = NextCertificate(chain.get()); next != nullptr; next = NextCertificate(chain.get())) {
    if (SSL_CTX_add1_chain_cert(context, next.get()) != 1) return TlsFault("the certificate's chain");
  }
  const BioOwner key_text = OfText(pem.key);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
  if (key == nullptr || SSL_CTX_use_PrivateKey(context, key.get()) != 1) return TlsFault("the key");
  return absl::OkStatus();
}

absl::Status AskForClients(SSL_CTX* context, const TlsPem& pem) {
  if (pem.client_ca.empty()) return absl::OkStatus();
  const BioOwner authorities = OfText(pem.client_ca);
  for (X509Owner next = NextCertificate(authorities.get()); next != nullptr;
       next = NextCertificate(authorities.get())) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), next.get()) != 1 ||
        SSL_CTX_add_client_CA(context, next.get()) != 1) {
      return TlsFault("the clients' authorities");
    }
  }
  const int required = pem.client_certificate_optional ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | required, nullptr);
  // Issues no tickets: OpenSSL would resume a session although the client's certificate has expired, and a resumed
  // session lacks the intermediate certificates and the verified chain that IsTrustedBy and CertificateExpires need.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);  // for TLS 1.3, where NO_TICKET only changes the kind of ticket
  return absl::OkStatus();
}

// Writes to the socket as OpenSSL does, but without SIGPIPE if the client is gone.
int WriteWithoutSignal(BIO* bio, const char* bytes, int size) {
  const ssize_t sent = send(static_cast<int>(BIO_get_fd(bio, nullptr)), bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
  BIO_clear_retry_flags(bio);
  if (sent <= 0 && BIO_sock_should_retry(static_cast<int>(sent)) != 0) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

const BIO_METHOD* SocketWithoutSignal() {
  static const BIO_METHOD* const kMethod = [] {
    const BIO_METHOD* socket = BIO_s_socket();
    BIO_METHOD* made = BIO_meth_new(BIO_TYPE_SOCKET, "socket without SIGPIPE");
    if (made == nullptr) FailAllocation();
    BIO_meth_set_write(made, WriteWithoutSignal);
    BIO_meth_set_read(made, BIO_meth_get_read(socket));
    BIO_meth_set_puts(made, BIO_meth_get_puts(socket));
    BIO_meth_set_ctrl(made, BIO_meth_get_ctrl(socket));
    BIO_meth_set_create(made, BIO_meth_get_create(socket));
    BIO_meth_set_destroy(made, BIO_meth_get_destroy(socket));
    return made;
  }();
  return kMethod;
}

void AddAlternativeNames(const X509* certificate, std::vector<std::string>& names) {
  auto* alternatives =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  if (alternatives == nullptr) return;
  for (int i = 0; i < sk_GENERAL_NAME_num(alternatives); ++i) {
    const GENERAL_NAME* each = sk_GENERAL_NAME_value(alternatives, i);
    if (each->type == GEN_DNS || each->type == GEN_EMAIL || each->type == GEN_URI) {
      const ASN1_IA5STRING* text = each->d.ia5;
      names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                         static_cast<size_t>(ASN1_STRING_length(text)));
    } else if (each->type == GEN_IPADD) {
      const ASN1_OCTET_STRING* bytes = each->d.iPAddress;
      char text[INET6_ADDRSTRLEN] = "";
      const int length = ASN1_STRING_length(bytes);
      if (length != 4 && length != 16) continue;  // malformed: the length of no address
      if (inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(bytes), text, sizeof(text)) != nullptr)
        names.emplace_back(text);
    }
  }
  GENERAL_NAMES_free(alternatives);
}

// Selects HTTP/2 if the client offers it.
int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                   unsigned int offered_size, void*) {
  static constexpr unsigned char kKnown[] = "\x02h2\x08http/1.1";
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, kKnown, sizeof(kKnown) - 1, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

absl::Time ExpiryOf(const X509* certificate) {
  tm expires = {};
  if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &expires) != 1) {
    return absl::InfiniteFuture();
  }
  return absl::FromTimeT(timegm(&expires));
}

class TlsSocket final : public ByteStream {
 public:
  TlsSocket(int socket, std::shared_ptr<const TlsContext> context)
      : socket_(socket), context_(std::move(context)), tls_(SSL_new(context_->get()), &SSL_free) {
    BIO* bio = tls_ == nullptr ? nullptr : BIO_new(SocketWithoutSignal());
    if (bio == nullptr) FailAllocation();
    BIO_set_fd(bio, socket, BIO_NOCLOSE);
    SSL_set_bio(tls_.get(), bio, bio);
    SSL_set_accept_state(tls_.get());
    SSL_set_msg_callback(tls_.get(), CountKeyUpdate);
    SSL_set_msg_callback_arg(tls_.get(), this);
  }

  Result Handshake() override {
    if (!has_peeked_) {
      char first = 0;
      has_peeked_ = recv(socket_, &first, 1, MSG_PEEK) == 1;
      has_seen_plain_http_ = has_peeked_ && absl::ascii_isupper(static_cast<unsigned char>(first));
      if (has_seen_plain_http_) {
        failure_ = "the client sent HTTP without TLS";
        return {.next = Result::Next::kGone};
      }
    }
    return After(SSL_do_handshake(tls_.get()));
  }

  Result Read(char* bytes, size_t size) override {
    return After(SSL_read(tls_.get(), bytes, static_cast<int>(std::min<size_t>(size, INT_MAX))));
  }

  Result Write(absl::string_view first, absl::string_view second) override {
    const absl::string_view from = first.empty() ? second : first;
    if (from.empty()) return {};
    return After(SSL_write(tls_.get(), from.data(), static_cast<int>(std::min<size_t>(from.size(), INT_MAX))));
  }

  void EndWriting() override {
    SSL_shutdown(tls_.get());
    ERR_clear_error();
    shutdown(socket_, SHUT_WR);
  }

  int TakeKeyUpdates() override { return std::exchange(key_updates_, 0); }
  bool HasPending() const override { return SSL_has_pending(tls_.get()) == 1; }

  bool HasChosenHttp2() const override {
    const unsigned char* chosen = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(tls_.get(), &chosen, &size);
    return absl::string_view(reinterpret_cast<const char*>(chosen), size) == "h2";
  }

  std::vector<std::string> CertificateNames() const override {
    const X509Owner certificate = Verified();
    if (certificate == nullptr) return {};
    std::vector<std::string> names;
    AddAlternativeNames(certificate.get(), names);
    const BioOwner subject(BIO_new(BIO_s_mem()), &BIO_free);
    if (subject == nullptr) FailAllocation();
    X509_NAME_print_ex(subject.get(), X509_get_subject_name(certificate.get()), 0, XN_FLAG_RFC2253);
    const char* text = nullptr;
    const auto size = BIO_get_mem_data(subject.get(), &text);
    if (size > 0) names.emplace_back(text, static_cast<size_t>(size));
    return names;
  }

  absl::Time CertificateExpires() const override {
    absl::Time first = ExpiryOf(Verified().get());
    STACK_OF(X509)* const chain = SSL_get0_verified_chain(tls_.get());
    for (int i = 0; i < sk_X509_num(chain); ++i) first = std::min(first, ExpiryOf(sk_X509_value(chain, i)));
    return first;
  }

  bool IsTrustedBy(const TlsContext& context) const override {
    const X509Owner certificate = Verified();
    if (certificate == nullptr) return true;
    const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(X509_STORE_CTX_new(),
                                                                                &X509_STORE_CTX_free);
    const bool begun =
        check != nullptr && X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(context.get()), certificate.get(),
                                                SSL_get_peer_cert_chain(tls_.get())) == 1;
    const bool trusted =
        begun && X509_STORE_CTX_set_default(check.get(), "ssl_client") == 1 && X509_verify_cert(check.get()) == 1;
    ERR_clear_error();
    return trusted;
  }

  bool HasSeenPlainHttp() const override { return has_seen_plain_http_; }
  std::string Failure() const override { return failure_; }

 private:
  static void CountKeyUpdate(int is_sent, int, int type, const void* bytes, size_t size, SSL*, void* self) {
    const bool is_update = is_sent == 0 && type == SSL3_RT_HANDSHAKE && size > 0 &&
                           *static_cast<const unsigned char*>(bytes) == SSL3_MT_KEY_UPDATE;
    if (is_update) ++static_cast<TlsSocket*>(self)->key_updates_;
  }

  // Returns the client's verified certificate; null if there is none.
  X509Owner Verified() const {
    X509Owner certificate(SSL_get1_peer_certificate(tls_.get()), &X509_free);
    if (SSL_get_verify_result(tls_.get()) != X509_V_OK) certificate.reset();
    return certificate;
  }

  void NoteFailure(unsigned long error) {
    const int reason = ERR_GET_REASON(error);
    const char* const text = ERR_reason_error_string(error);
    if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING || text == nullptr) return;
    failure_ = text;
    if (reason != SSL_R_CERTIFICATE_VERIFY_FAILED) return;
    absl::StrAppend(&failure_, ": ", X509_verify_cert_error_string(SSL_get_verify_result(tls_.get())));
  }

  Result After(int returned) {
    using Next = Result::Next;
    if (returned > 0) return {.next = Next::kGoOn, .bytes = static_cast<size_t>(returned)};
    const int why = SSL_get_error(tls_.get(), returned);
    if (why == SSL_ERROR_SSL) NoteFailure(ERR_peek_error());
    ERR_clear_error();
    if (why == SSL_ERROR_WANT_READ) return {.next = Next::kAwaitReadable};
    if (why == SSL_ERROR_WANT_WRITE) return {.next = Next::kAwaitWritable};
    return {.next = Next::kGone};
  }

  const int socket_;
  const std::shared_ptr<const TlsContext> context_;
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls_;
  bool has_peeked_ = false;  // true: the first byte was examined
  bool has_seen_plain_http_ = false;
  std::string failure_;
  int key_updates_ = 0;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const TlsContext>> TlsContext::Make(const TlsPem& pem) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) FailAllocation();
  std::shared_ptr<const TlsContext> made(new TlsContext(context));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  // Reads one record per call: with AUTO_RETRY, SSL_read would not return while a client sends KeyUpdates, and would
  // block all other connections.
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Sessions are resumed by tickets only, because a cache of sessions would grow in the server's memory. A context that
  // verifies client certificates resumes no sessions (see AskForClients).
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  constexpr unsigned char kContext[] = "vitrine";
  SSL_CTX_set_session_id_context(context, kContext, sizeof(kContext) - 1);
  SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, nullptr);
  RETURN_IF_ERROR(UseCertificate(context, pem));
  RETURN_IF_ERROR(AskForClients(context, pem));
  return made;
}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

std::unique_ptr<ByteStream> TlsStream(int socket, std::shared_ptr<const TlsContext> context) {
  return std::make_unique<TlsSocket>(socket, std::move(context));
}

}  // namespace vitrine
