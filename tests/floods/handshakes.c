// SPDX-License-Identifier: Apache-2.0
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flood.h"

// Sends one byte per second: first the preface, then SETTINGS frames without end.
static void FillSlowPreface(Connection* connection) {
  static const char kBytes[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\6\4\0\0\0\0\0";
  Put(connection, kBytes + connection->next_stream++ % (sizeof kBytes - 1), 1);
}

static void Ignore(Connection* connection, const uint8_t* bytes, size_t size) {
  (void)connection, (void)bytes, (void)size;
}

static void OpenPreface(Connection* connection) {
  connection->next_stream = 0;
}

// Disconnects before it sends a byte, or sends the preface and disconnects without reading.
static void FillAndLeave(Connection* connection) {
  if (connection->variant % 2 && connection->begin == 0 && connection->next_stream++ == 1) {
    PutPreface(connection);
    PutFrame(connection, kSettings, 0, 0, NULL, 0);
    return;
  }
  ++counts.given_up;
  Leave(connection);
}

static SSL_CTX* Context(void) {
  static SSL_CTX* context;
  if (context) return context;
  static const unsigned char kProtocols[] = {2, 'h', '2'};
  context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
  SSL_CTX_set_alpn_protos(context, kProtocols, sizeof kProtocols);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return context;
}

static void PutPending(Connection* connection) {
  char bytes[8192];
  const int size = BIO_read(SSL_get_wbio(connection->tls), bytes, sizeof bytes);
  if (size > 0) Put(connection, bytes, (size_t)size);
}

// Returns true for every third handshake, which the client completes. It abandons the other handshakes after the server
// has signed. The client makes the ClientHello of the abandoned handshakes only once, so these handshakes take the
// client almost no time.
static bool IsWhole(const Connection* connection) {
  return connection->variant % 3 == 0;
}

static void OpenHandshake(Connection* connection) {
  static Connection* hello;
  if (hello && !IsWhole(connection)) {
    Put(connection, hello->out, hello->end);
    ++counts.frames;
    return;
  }
  SSL_free(connection->tls);
  SSL* tls = SSL_new(Context());
  SSL_set_bio(tls, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(tls);
  connection->tls = tls;
  SSL_do_handshake(tls);
  PutPending(connection);
  ++counts.frames;
  if (hello) return;
  hello = calloc(1, sizeof *hello);
  hello->out = malloc(8192);
  hello->end = connection->end;
  for (size_t i = 0; i < hello->end; ++i) hello->out[i] = connection->out[i];
}

static void HandshakeBytes(Connection* connection, const uint8_t* bytes, size_t size) {
  ++counts.answered;
  if (!IsWhole(connection)) return Leave(connection);
  BIO_write(SSL_get_rbio(connection->tls), bytes, (int)size);
  if (SSL_do_handshake(connection->tls) == 1) {
    ++counts.given_up;
    return Leave(connection);
  }
  PutPending(connection);
}

// Spreads the requests over three seconds, because the flood is about memory.
static void OpenPipelined(Connection* connection) {
  connection->next_at = connection->opened_at + 0.003 * connection->number;
}

// Sends about 128 KiB of HTTP/1 requests at once, and nothing after that. On every second connection, the last request
// lacks its end. The server should keep nothing of the requests that it has answered.
static void FillPipelined(Connection* connection) {
  if (connection->next_stream++ != 1) return;
  static const char kHead[] = "GET / HTTP/1.1\r\nHost: x\r\nx-padding: ";
  static char padding[4000];
  memset(padding, 'x', sizeof padding);
  for (int i = 0; i < 32; ++i) {
    Put(connection, kHead, sizeof kHead - 1);
    Put(connection, padding, sizeof padding);
    if (i < 31 || connection->variant % 2) Put(connection, "\r\n\r\n", 4);
    ++counts.frames;
  }
}

static void FillNothing(Connection* connection) {
  (void)connection;
}

const Flood kRawFloods[] = {{"slow-preface", "1,000 connections, a byte a second of the preface", 334, 1, true, false,
                             OpenPreface, FillSlowPreface, NULL, Ignore},
                            {"tls-handshakes", "ClientHello, whole handshakes too; leaves when the server has signed",
                             16, 0.001, true, false, OpenHandshake, FillNothing, NULL, HandshakeBytes},
                            {"connect-and-leave", "connections that are reset at once or after the preface", 16, 0,
                             true, false, NULL, FillAndLeave, NULL, Ignore},
                            {"pipelined", "1,000 idle connections, after HTTP/1 requests of 128 KiB at once", 334, 1,
                             true, false, OpenPipelined, FillPipelined, NULL, Ignore},
                            {0}};
