// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "flood.h"

static const Flood* flood;
static int epoll;
static double started;

double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void Close(Connection* connection) {
  if (connection->fd < 0) return;
  for (int i = 0; i < kMostStreams; ++i)
    counts.waiting -= connection->streams[i].id && connection->streams[i].has_headers;
  const struct linger reset = {1, 0};  // avoids TIME_WAIT, which would use up the ports
  setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(connection->fd);
  connection->fd = -1;
  ++connection->variant;
}

void Leave(Connection* connection) {
  Close(connection);
}

static void CutOff(Connection* connection) {
  ++counts.cut_off;
  Close(connection);
}

// Handles a failed connect: the server does not run or rejects the connection. Tries again after 10 ms.
static void Refused(Connection* connection, double now) {
  ++counts.refused;
  Close(connection);
  connection->next_at = now + 0.01;
}

static void Open(Connection* connection, double now) {
  const int family = addresses.to.ss_family, on = 1;
  connection->connected = connection->readable = connection->writable = false;
  connection->has_goaway = connection->had_bytes = false;
  connection->reads = true;
  connection->begin = connection->end = connection->in_size = connection->in_skip = 0;
  connection->next_stream = 1, connection->send_window = 65535, connection->most_streams = 100;
  connection->tokens = 0;
  connection->opened_at = now;
  memset(connection->streams, 0, sizeof connection->streams);
  connection->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (connection->fd < 0) return Refused(connection, now);
  if (family != AF_UNIX) {
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(connection->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (addresses.from_size && bind(connection->fd, (struct sockaddr*)&addresses.from, addresses.from_size) != 0) {
      perror("flood: bind");
      exit(1);
    }
  }
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = connection};
  if (connect(connection->fd, (struct sockaddr*)&addresses.to, addresses.to_size) != 0 && errno != EINPROGRESS)
    return Refused(connection, now);
  epoll_ctl(epoll, EPOLL_CTL_ADD, connection->fd, &event);
}

static void Connected(Connection* connection) {
  connection->connected = true;
  ++counts.connections;
  if (!flood->is_raw) {
    PutPreface(connection);
    if (!flood->open) PutFrame(connection, kSettings, 0, 0, NULL, 0);
  }
  if (flood->open) flood->open(connection);
}

static uint32_t NumberAt(const uint8_t* bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Handles a received frame. `body` has the first `kept` bytes of the frame's body.
static void Received(Connection* connection, uint8_t type, uint8_t flags, uint32_t stream, const uint8_t* body,
                     size_t kept, size_t length, double now) {
  if (type == kSettings && !(flags & kAck)) {
    for (size_t i = 0; i + 6 <= kept; i += 6)
      if (body[i] == 0 && body[i + 1] == 3) connection->most_streams = NumberAt(body + i + 2);
    if (!flood->is_silent && RoomFor(connection, 9)) PutFrame(connection, kSettings, kAck, 0, NULL, 0);
  } else if (type == kPing && !(flags & kAck) && kept == 8) {
    if (!flood->is_silent && RoomFor(connection, 17)) PutFrame(connection, kPing, kAck, 0, body, 8);
  } else if (type == kWindowUpdate && stream == 0 && kept == 4) {
    connection->send_window += NumberAt(body);
  } else if (type == kRstStream) {
    ++counts.resets;
  } else if (type == kGoaway && !connection->has_goaway) {
    ++counts.goaways;
    connection->has_goaway = true;
    connection->goaway_at = now;
  }
  if (flood->received) flood->received(connection, type, flags, stream, length);
}

static void Parse(Connection* connection, const uint8_t* bytes, size_t size, double now) {
  while (size > 0) {
    if (connection->in_skip > 0) {
      const size_t skipped = size < connection->in_skip ? size : connection->in_skip;
      connection->in_skip -= skipped, bytes += skipped, size -= skipped;
      continue;
    }
    size_t wanted = 9;
    if (connection->in_size >= 9) wanted += NumberAt(connection->in) >> 8;
    if (wanted > sizeof connection->in) wanted = sizeof connection->in;
    const size_t missing = wanted - connection->in_size, taken = size < missing ? size : missing;
    memcpy(connection->in + connection->in_size, bytes, taken);
    connection->in_size += taken, bytes += taken, size -= taken;
    if (connection->in_size < 9) return;
    const size_t length = NumberAt(connection->in) >> 8;
    const size_t whole = length + 9 < sizeof connection->in ? length + 9 : sizeof connection->in;
    if (connection->in_size < whole) continue;
    connection->in_skip = length + 9 - whole;
    connection->in_size = 0;
    const uint8_t* in = connection->in;
    Received(connection, in[3], in[4], NumberAt(in + 5) & 0x7fffffff, in + 9, whole - 9, length, now);
  }
}

static void Receive(Connection* connection, double now) {
  static uint8_t bytes[256 << 10];
  const ssize_t size = recv(connection->fd, bytes, sizeof bytes, 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    connection->readable = false;
  } else if (size <= 0) {
    CutOff(connection);
  } else {
    connection->had_bytes = true;
    if (flood->bytes) {
      flood->bytes(connection, bytes, (size_t)size);
    } else {
      Parse(connection, bytes, (size_t)size, now);
    }
  }
}

static void Send(Connection* connection, double now) {
  for (int i = 0; i < 4 && connection->fd >= 0; ++i) {
    if (connection->begin == connection->end) {
      connection->begin = connection->end = 0;
      if (now < connection->next_at) return;
      flood->fill(connection);
      if (connection->fd < 0) return;
      connection->next_at = flood->interval > 0 ? now + flood->interval : 0;
      if (connection->end == 0) return;
    }
    const ssize_t sent =
        send(connection->fd, connection->out + connection->begin, connection->end - connection->begin, MSG_NOSIGNAL);
    if (sent < 0) {
      connection->writable = false;
      if (errno != EAGAIN && errno != EINTR) CutOff(connection);
      return;
    }
    counts.bytes += sent;
    connection->begin += (size_t)sent;
  }
}

// Connects, reads or writes, as far as possible without blocking. Returns true if a further step may be possible at
// once.
static bool Step(Connection* connection, double now) {
  if (connection->fd < 0) {
    if (now < connection->next_at) return false;
    Open(connection, now);
    return connection->fd >= 0;
  }
  if (!connection->connected) return false;
  if (connection->readable && connection->reads) Receive(connection, now);
  if (connection->fd < 0) return true;
  if (connection->writable) Send(connection, now);
  // Disconnects if the server has sent GOAWAY but does not end the connection.
  if (connection->fd >= 0 && connection->has_goaway && now > connection->goaway_at + 0.1) CutOff(connection);
  if (connection->fd < 0) return true;
  return (connection->readable && connection->reads) || (connection->writable && connection->next_at <= now);
}

static void Note(Connection* connection, uint32_t events, double now) {
  if (connection->fd < 0) return;
  if (events & (EPOLLHUP | EPOLLERR)) return connection->connected ? CutOff(connection) : Refused(connection, now);
  connection->readable |= (events & (EPOLLIN | EPOLLRDHUP)) != 0;
  connection->writable |= (events & EPOLLOUT) != 0;
  if ((events & EPOLLRDHUP) && !connection->reads) return CutOff(connection);
  if (connection->writable && !connection->connected) Connected(connection);
}

static void Progress(double now) {
  printf("{\"t\": %.2f, \"waiting\": %ld, \"begun\": %ld, \"answered\": %ld, \"ended\": %ld}\n", now - started,
         (long)counts.waiting, (long)counts.begun, (long)counts.answered, (long)counts.ended);
  fflush(stdout);
}

void RunFlood(const Flood* chosen, bool shows_progress) {
  flood = chosen;
  epoll = epoll_create1(0);
  const int size = options.connections * flood->sockets;
  Connection* connections = calloc((size_t)size, sizeof *connections);
  for (int i = 0; i < size; ++i) {
    connections[i].fd = -1;
    connections[i].number = connections[i].variant = i;
    connections[i].out = malloc(kOutBytes);  // pages without data use no memory
  }
  started = Now();
  bool is_busy = true;
  double shown = started;
  for (double now = started; now < started + options.seconds; now = Now()) {
    struct epoll_event events[256];
    const int ready = epoll_wait(epoll, events, 256, is_busy ? 0 : 1);
    now = Now();
    for (int i = 0; i < ready; ++i) Note(events[i].data.ptr, events[i].events, now);
    is_busy = false;
    for (int i = 0; i < size; ++i) is_busy |= Step(&connections[i], now);
    if (shows_progress && now > shown + 0.25) {
      Progress(now);
      shown = now;
    }
  }
  // Closes the open connections; the server counts them as closed by the client.
  for (int i = 0; i < size; ++i) Close(&connections[i]);
}
