// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_CONNECTIONS_H_
#define VITRINE_BASE_HTTP_CONNECTIONS_H_

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/file/descriptor.h"
#include "base/http/head.h"
#include "base/mutex.h"

struct pollfd;

namespace vitrine {

// One connection of a client. Belongs to one thread at a time.
struct HttpConnection {
  FileDescriptor socket;          // does not block
  sockaddr_storage address = {};  // of the client
  socklen_t address_bytes = 0;
  std::string received;             // what has come and no request has taken
  absl::StatusOr<HttpHead> head;    // of the request that is answered, or why it is none
  std::string to_send;              // the answer on its way
  size_t sent_bytes = 0;            // of to_send
  bool keep = false;                // whether another request may follow that answer
  std::shared_ptr<void> held = {};  // kept until the answer is out, or nobody takes it; may be null
  enum class Phase { kHead, kSending, kEnding } phase = Phase::kHead;
  std::chrono::steady_clock::time_point until = {};  // when its phase is given up
  std::chrono::steady_clock::time_point since = {};  // when it was accepted, or its last answer was out

  // Of the client, as gRPC writes it: "ipv4:127.0.0.1:40000".
  std::string Peer() const;
  // Says that there is no memory to answer, which takes none; to_send is empty then, and nothing is kept.
  void SendOutOfMemory();
};

// One connection, handed from one list to another: that takes no memory, which may have run out.
using HttpConnectionNode = std::list<HttpConnection>;

// The connections that nobody works on: one thread accepts them, waits for the head of a request on each, and sends
// what a client is slow to take. However many they are and however slowly they speak, they hold no other thread. Where
// memory runs out the connection that needed it is answered so, or waits to be accepted; the others go on.
class HttpConnections {
 public:
  struct Limits {
    absl::Duration head;        // from the first wait for a request to the end of its head; for an answer to be taken
    absl::Duration keep_alive;  // between two requests
    size_t most;                // connections, those that are worked on included; beyond it the idlest is closed
    size_t unsent_bytes;        // of answers that clients do not take; beyond it the first of them is given up
    std::function<void()> out_of_memory = {};  // told when memory ran out for a connection; may be null
  };
  // Called on the thread of this object with a request whose head has come. Must not block nor throw.
  using Take = std::function<void(HttpConnectionNode)>;

  // Takes over the listening sockets, which do not block. UNAVAILABLE if the process has no descriptor left.
  static absl::StatusOr<std::unique_ptr<HttpConnections>> Open(std::vector<FileDescriptor> listening,
                                                               const Limits& limits, Take take);
  // Requires that nobody works on a connection any more. Waits a second at most for answers on their way.
  ~HttpConnections();

  // Begins to accept. Once.
  void Start();

  // Takes back a connection that was handed out, with the answer in to_send. Any thread.
  void Send(HttpConnectionNode node);

 private:
  using Held = HttpConnectionNode::iterator;
  enum class Next { kWait, kHandOut, kClose };

  HttpConnections(std::vector<FileDescriptor> listening, FileDescriptor wake, const Limits& limits, Take take);
  void Run();
  void Wake() const;
  void AdoptReturned();
  void AwaitEvents();
  void AcceptAll();
  void AcceptWaiting(int listening);
  // To make room: the one of which nothing came for longest. Those whose answers are being sent stay.
  void CloseIdlest();
  void KeepUnsentInBounds();
  // Goes on with a connection whose moment has come, and keeps it, hands it out or closes it.
  void Advance(Held connection);
  void HandOut(Held connection);
  Next Step(HttpConnection& connection) const;
  Next ReadHead(HttpConnection& connection) const;
  Next SendMore(HttpConnection& connection) const;
  bool IsDone();

  const FileDescriptor wake_;  // an eventfd
  const Limits limits_;
  const Take take_;
  // Touched by the thread alone.
  std::vector<FileDescriptor> listening_;
  HttpConnectionNode held_;
  std::vector<pollfd> events_;  // of wake_, of listening_, of held_ in its order; room for all is made at the start
  std::chrono::steady_clock::time_point accept_again_ = {};  // no descriptor or memory is left until then

  Mutex mutex_;
  HttpConnectionNode returned_ ABSL_GUARDED_BY(mutex_);
  size_t handed_out_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_CONNECTIONS_H_
