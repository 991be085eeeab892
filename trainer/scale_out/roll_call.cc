// SPDX-License-Identifier: Apache-2.0
#include "trainer/scale_out/roll_call.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

std::vector<uint8_t> BytesOf(const std::string& text) {
  return {text.begin(), text.end()};
}

std::vector<std::string> KeysOf(const std::string& kind, int world_size) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < world_size; ++rank) keys.push_back(absl::StrCat(kind, "/", rank));
  return keys;
}

// Waits for a key of each rank. Returns the ranks whose key is missing after the timeout. Throws if the store is lost.
std::vector<int> Absent(c10d::Store& store, const std::string& kind, int world_size, absl::Duration timeout) {
  const std::vector<std::string> keys = KeysOf(kind, world_size);
  try {
    store.wait(keys, absl::ToChronoMilliseconds(timeout));
    return {};
  } catch (const std::exception&) {
    std::vector<int> absent;
    for (int rank = 0; rank < world_size; ++rank) {
      if (!store.check({keys[rank]})) absent.push_back(rank);
    }
    return absent;
  }
}

// Returns the first line in which two texts differ, as `"theirs" instead of "ours"`.
std::string FirstDifference(const std::string& theirs, const std::string& ours) {
  const std::vector<std::string> a = absl::StrSplit(theirs, '\n'), b = absl::StrSplit(ours, '\n');
  size_t line = 0;
  while (line < a.size() && line < b.size() && a[line] == b[line]) ++line;
  const auto quoted = [line](const std::vector<std::string>& lines) {
    return line < lines.size() ? absl::StrCat("\"", lines[line].substr(0, 200), "\"") : "nothing more";
  };
  return absl::StrCat(quoted(a), " instead of ", quoted(b));
}

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

bool EndsWithin(absl::Duration limit, std::function<void()> work) {
  auto ended = std::make_shared<absl::Notification>();
  std::thread([ended, work = std::move(work)] {
    work();
    ended->Notify();
  }).detach();
  return ended->WaitForNotificationWithTimeout(limit);
}

std::string InOneLine(const std::exception& error) {
  const auto* own = dynamic_cast<const c10::Error*>(&error);
  const std::string text = own != nullptr ? own->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

RollCall::RollCall(c10::intrusive_ptr<c10d::Store> store, const Rendezvous& rendezvous)
    : store_(c10::make_intrusive<c10d::PrefixStore>(absl::StrCat("vitrine/", rendezvous.restarts), std::move(store))),
      rendezvous_(rendezvous),
      places_(rendezvous.world_size) {}

std::string RollCall::NameOf(int rank) const {
  return places_[rank].empty() ? absl::StrCat("rank ", rank) : absl::StrCat("rank ", rank, " (", places_[rank], ")");
}

absl::Status RollCall::Arrive(const std::string& agreement, absl::Duration timeout) {
  const int size = rendezvous_.world_size;
  const std::string place = absl::StrCat("process ", getpid(), " on ", HostName());
  if (store_->add(absl::StrCat("count/", rendezvous_.rank), 1) > 1) {
    return absl::AlreadyExistsError(absl::StrCat(
        "another process has arrived as rank ", rendezvous_.rank, " of ", size, " before ", place,
        "; each process needs its own RANK; before a job is restarted, all its processes must have ended"));
  }
  store_->set(absl::StrCat("here/", rendezvous_.rank), BytesOf(absl::StrCat(size, "\n", place, "\n", agreement)));
  const std::vector<int> absent = Absent(*store_, "here", size, timeout);
  if (!absent.empty()) {
    return absl::UnavailableError(absl::StrCat("of ", size, " ranks, these did not arrive at ",
                                               rendezvous_.master_address, ":", rendezvous_.master_port, " within ",
                                               absl::FormatDuration(timeout), ": ", absl::StrJoin(absent, ", ")));
  }
  std::string sizes, agreements;
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<uint8_t> bytes = store_->get(absl::StrCat("here/", rank));
    const std::vector<std::string> parts =
        absl::StrSplit(std::string(bytes.begin(), bytes.end()), absl::MaxSplits('\n', 2));
    places_[rank] = parts[1];
    if (parts[0] != absl::StrCat(size)) absl::StrAppend(&sizes, "; ", NameOf(rank), " has WORLD_SIZE=", parts[0]);
    if (parts[2] != agreement) {
      absl::StrAppend(&agreements, "; ", NameOf(rank), " has ", FirstDifference(parts[2], agreement));
    }
  }
  store_->set(absl::StrCat("read/", rendezvous_.rank), BytesOf(""));
  if (sizes.empty() && agreements.empty()) return absl::OkStatus();
  // Rank 0 may host the store, so it waits until all other ranks have read the keys.
  if (rendezvous_.rank == 0) Absent(*store_, "read", size, std::min(timeout, absl::Seconds(5)));
  if (!sizes.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(NameOf(rendezvous_.rank), " has WORLD_SIZE=", size, sizes));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the ranks do not train the same model. Compared with ", NameOf(rendezvous_.rank), agreements));
}

std::string RollCall::MissingRanks(absl::Duration timeout) const {
  struct Answer {
    std::vector<int> absent;
    std::string error;
  };
  auto answer = std::make_shared<Answer>();
  const bool ended = EndsWithin(timeout + absl::Seconds(1), [answer, store = store_, timeout, rank = rendezvous_.rank,
                                                             size = rendezvous_.world_size] {
    try {
      store->set(absl::StrCat("alive/", rank), BytesOf(""));
      answer->absent = Absent(*store, "alive", size, timeout);
    } catch (const std::exception& error) {
      answer->error = InOneLine(error);
    }
  });
  if (!ended || !answer->error.empty()) {
    return rendezvous_.agent_hosts_store ? "torchrun's agent, which hosts the store, does not answer"
                                         : absl::StrCat(NameOf(0), ", which hosts the store, has ended or hangs");
  }
  if (answer->absent.empty()) return "all ranks are alive, but a connection between two of them broke or was too slow";
  return absl::StrCat(
      absl::StrJoin(answer->absent, ", ", [this](std::string* out, int rank) { absl::StrAppend(out, NameOf(rank)); }),
      answer->absent.size() == 1 ? " has ended or hangs" : " have ended or hang");
}

}  // namespace vitrine
