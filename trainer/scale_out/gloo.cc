// SPDX-License-Identifier: Apache-2.0
#include "trainer/scale_out/gloo.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <c10/util/Logging.h>
#include <signal.h>

#include <cstdlib>
#include <map>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "trainer/scale_out/roll_call.h"

namespace vitrine {
namespace {

// Maximum size of a message. It is large enough that the latency of a message is short compared with its transfer time,
// and small enough to limit the memory for the flat copy.
constexpr int64_t kBucketBytes = int64_t{64} << 20;

using Tensors = std::vector<at::Tensor>;

// Divides tensors into buckets of one type and at most kBucketBytes each. Keeps the order within a type. A larger
// tensor has its own bucket.
std::vector<Tensors> BucketsOf(std::span<const at::Tensor> tensors) {
  std::map<at::ScalarType, std::vector<Tensors>> by_type;
  std::map<at::ScalarType, int64_t> bytes;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    std::vector<Tensors>& buckets = by_type[tensor.scalar_type()];
    int64_t& filled = bytes[tensor.scalar_type()];
    const int64_t more = tensor.numel() * tensor.element_size();
    if (buckets.empty() || filled + more > kBucketBytes) {
      buckets.emplace_back();
      filled = 0;
    }
    buckets.back().push_back(tensor);
    filled += more;
  }
  std::vector<Tensors> all;
  for (auto& [type, buckets] : by_type) all.insert(all.end(), buckets.begin(), buckets.end());
  return all;
}

// Applies `exchange` to a flat host copy of the tensors and writes the result back.
template <typename Exchange>
void ThroughFlatCopy(const Tensors& bucket, const Exchange& exchange) {
  if (bucket.size() == 1 && bucket[0].is_contiguous() && bucket[0].is_cpu()) return exchange(bucket[0].view({-1}));
  Tensors pieces;
  for (const at::Tensor& tensor : bucket) pieces.push_back(tensor.reshape({-1}).cpu());
  const at::Tensor flat = at::cat(pieces);
  exchange(flat);
  int64_t start = 0;
  for (const at::Tensor& tensor : bucket) {
    tensor.copy_(flat.narrow(0, start, tensor.numel()).view(tensor.sizes()));
    start += tensor.numel();
  }
}

class Gloo final : public Communicator {
 public:
  Gloo(const Rendezvous& rendezvous, const ConnectOptions& options, RollCall roll_call,
       c10::intrusive_ptr<c10d::ProcessGroupGloo> group)
      : rendezvous_(rendezvous), options_(options), roll_call_(std::move(roll_call)), group_(std::move(group)) {}

  int rank() const override { return rendezvous_.rank; }
  int size() const override { return rendezvous_.world_size; }

  absl::Status Sum(std::span<const at::Tensor> tensors) override {
    for (const at::Tensor& tensor : tensors) {
      if (!tensor.defined()) return absl::InvalidArgumentError("a tensor to sum over the ranks is undefined");
      if (tensor.scalar_type() == at::kBool || tensor.is_complex() || tensor.is_sparse()) {
        return absl::InvalidArgumentError(
            absl::StrCat("a tensor of type ", std::string(tensor.toString()), " cannot be summed over the ranks"));
      }
    }
    return ForEachBucket("Sum", tensors, [this](const at::Tensor& flat) {
      Tensors one = {flat};
      group_->allreduce(one)->wait();
    });
  }

  absl::Status Broadcast(std::span<const at::Tensor> tensors) override {
    for (const at::Tensor& tensor : tensors) {
      if (!tensor.defined()) return absl::InvalidArgumentError("a tensor to broadcast to the ranks is undefined");
    }
    return ForEachBucket("Broadcast", tensors, [this](const at::Tensor& flat) {
      Tensors bytes = {flat.view(at::kByte)};  // Gloo does not support every type
      group_->broadcast(bytes)->wait();
    });
  }

 private:
  template <typename Exchange>
  absl::Status ForEachBucket(const char* what, std::span<const at::Tensor> tensors, const Exchange& exchange) {
    RETURN_IF_ERROR(lost_);
    const absl::Time start = absl::Now();
    try {
      const at::NoGradGuard no_grad;
      for (const Tensors& bucket : BucketsOf(tensors)) ThroughFlatCopy(bucket, exchange);
      return absl::OkStatus();
    } catch (const std::exception& error) {
      lost_ = Loss(what, absl::Now() - start, InOneLine(error));
      return lost_;
    }
  }

  absl::Status Loss(const char* what, absl::Duration after, const std::string& why) {
    // Closes the connections of this rank. Ranks that wait for this rank then notice the loss, too, and report
    // themselves as alive.
    EndsWithin(options_.report_timeout, [group = std::exchange(group_, {})]() mutable { group.reset(); });
    const std::string missing = roll_call_.MissingRanks(options_.report_timeout);
    return absl::UnavailableError(absl::StrCat("rank ", rank(), " of ", size(), " waited ",
                                               absl::FormatDuration(absl::Trunc(after, absl::Milliseconds(1))), " in ",
                                               what, ": ", missing, " (", why, ")"));
  }

  const Rendezvous rendezvous_;
  const ConnectOptions options_;
  const RollCall roll_call_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  absl::Status lost_;
};

void IgnoreBrokenPipes() {
  struct sigaction now {};
  if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

// Turns off c10d's log, which repeats the errors of this file with a stack trace for each connection attempt. The
// environment variable TORCH_CPP_LOG_LEVEL turns the log on again.
void QuietLibTorch() {
  constexpr int kFatal = 3;
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = kFatal;
}

// Opens the store through which the ranks find each other. Throws on errors.
c10::intrusive_ptr<c10d::Store> OpenStore(const Rendezvous& rendezvous, absl::Duration timeout) {
  c10d::TCPStoreOptions options;
  options.port = rendezvous.master_port;
  options.isServer = rendezvous.rank == 0 && !rendezvous.agent_hosts_store;
  options.numWorkers = rendezvous.world_size;
  options.waitWorkers = false;  // RollCall waits instead, and names missing ranks
  options.timeout = absl::ToChronoMilliseconds(timeout);
  return c10::make_intrusive<c10d::TCPStore>(rendezvous.master_address, options);
}

// Connects every rank with every other rank. Throws on errors. GLOO_SOCKET_IFNAME selects the network interfaces, as in
// PyTorch.
c10::intrusive_ptr<c10d::ProcessGroupGloo> OpenGroup(const c10::intrusive_ptr<c10d::Store>& store,
                                                     const Rendezvous& rendezvous, const ConnectOptions& options) {
  auto group_options = c10d::ProcessGroupGloo::Options::create(absl::ToChronoMilliseconds(options.arrival_timeout));
  if (const char* interfaces = std::getenv("GLOO_SOCKET_IFNAME")) {
    for (const auto name : absl::StrSplit(interfaces, ',', absl::SkipEmpty())) {
      group_options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(std::string(name)));
    }
  }
  if (group_options->devices.empty()) {
    group_options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
  }
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<c10d::PrefixStore>(absl::StrCat("gloo/", rendezvous.restarts), store), rendezvous.rank,
      rendezvous.world_size, group_options);
  group->setTimeout(absl::ToChronoMilliseconds(options.answer_timeout));
  return group;
}

absl::StatusOr<std::unique_ptr<Communicator>> Join(const Rendezvous& rendezvous, const ConnectOptions& options) {
  const std::string place = absl::StrCat(rendezvous.master_address, ":", rendezvous.master_port);
  std::string doing = rendezvous.rank == 0 && !rendezvous.agent_hosts_store
                          ? absl::StrCat("host the ranks' store on port ", rendezvous.master_port)
                          : absl::StrCat("reach the ranks' store at ", place);
  try {
    const c10::intrusive_ptr<c10d::Store> store = OpenStore(rendezvous, options.arrival_timeout);
    doing = absl::StrCat("meet the other ranks at ", place);
    RollCall roll_call(store, rendezvous);
    RETURN_IF_ERROR(roll_call.Arrive(options.agreement, options.arrival_timeout));
    doing = "connect with the other ranks (GLOO_SOCKET_IFNAME chooses the network interface)";
    return std::make_unique<Gloo>(rendezvous, options, std::move(roll_call), OpenGroup(store, rendezvous, options));
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("rank ", rendezvous.rank, " of ", rendezvous.world_size, " could not ",
                                               doing, ": ", InOneLine(error)));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> Connect(const Rendezvous& rendezvous, const ConnectOptions& options) {
  if (rendezvous.world_size == 1) return std::make_unique<Alone>();
  IgnoreBrokenPipes();
  QuietLibTorch();
  // Limits the time, because a client of the store waits forever if a server accepts its connection but never answers.
  const absl::Duration limit = 2 * options.arrival_timeout + absl::Seconds(5);
  auto joined = std::make_shared<absl::StatusOr<std::unique_ptr<Communicator>>>();
  if (EndsWithin(limit, [joined, rendezvous, options] { *joined = Join(rendezvous, options); })) {
    return std::move(*joined);
  }
  return absl::UnavailableError(absl::StrCat("the listener at ", rendezvous.master_address, ":", rendezvous.master_port,
                                             " did not answer rank ", rendezvous.rank, " of ", rendezvous.world_size,
                                             " within ", absl::FormatDuration(limit)));
}

}  // namespace vitrine
