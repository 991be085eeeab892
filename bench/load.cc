// Load on Classifier/Classify: pictures that are sent as they are, over several connections, from one thread.
//
// Closed loop (default): each connection keeps --in-flight requests under way. Open loop (--rate): requests start on a
// schedule whatever the answers do, and latency counts from the scheduled start. Prints one JSON object.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/pictures.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
using Seconds = std::chrono::duration<double>;

struct Options {
  std::string server;
  std::string model;
  std::vector<std::string> pictures;
  size_t picture_bytes = 0;
  int channels = 4;
  int in_flight = 16;
  double rate = 0;
  double warm_up = 1;
  double seconds = 5;
  int server_pid = 0;
};

SteadyTime Now() {
  return std::chrono::steady_clock::now();
}
SteadyTime After(SteadyTime start, double seconds) {
  return start + std::chrono::duration_cast<SteadyTime::duration>(Seconds(seconds));
}

double OwnCpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return time.tv_sec + 1e-6 * time.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// User and system time of another process; 0 where it cannot be read.
double CpuSecondsOf(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// One request under way; its place is used again for the next.
struct Slot {
  size_t channel = 0;
  std::optional<grpc::ClientContext> context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call;
  grpc::ByteBuffer answer;
  grpc::Status status;
  SteadyTime due;
};

class Generator {
 public:
  Generator(const Options& options, const std::vector<std::string>& pictures) : options_(options) {
    for (const std::string& picture : pictures) {
      v1::ClassifyRequest request;
      request.set_model(options.model);
      request.set_image(picture);
      if (options.picture_bytes > 0) request.mutable_image()->resize(options.picture_bytes);
      picture_bytes_ += static_cast<double>(request.image().size()) / static_cast<double>(pictures.size());
      const grpc::Slice slice(request.SerializeAsString());
      requests_.emplace_back(&slice, 1);
    }
    for (int i = 0; i < options.channels; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
      arguments.SetMaxReceiveMessageSize(-1);
      stubs_.emplace_back(grpc::CreateCustomChannel(options.server, grpc::InsecureChannelCredentials(), arguments));
    }
  }

  nlohmann::json Run() {
    start_ = Now();
    measure_from_ = After(start_, options_.warm_up);
    end_ = After(measure_from_, options_.seconds);
    if (options_.rate <= 0) {
      for (int i = 0; i < options_.channels * options_.in_flight; ++i) Send(start_);
    }
    while (Now() < end_) Step();
    return Report(Now());
  }

  // Requests that are still under way are of no interest; the process ends with them.
  [[noreturn]] static void Leave() { _exit(std::cout.flush() ? 0 : 1); }

 private:
  // Starts what is due and waits for one event.
  void Step() {
    SteadyTime wake = end_;
    if (options_.rate > 0) {
      while ((wake = After(start_, static_cast<double>(scheduled_) / options_.rate)) <= Now()) {
        Send(wake);
        ++scheduled_;
      }
    }
    void* tag = nullptr;
    bool ok = false;
    const auto wait = std::chrono::duration_cast<std::chrono::nanoseconds>(std::min(wake, end_) - Now());
    const auto deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                       gpr_time_from_nanos(std::max<int64_t>(0, wait.count()), GPR_TIMESPAN));
    if (queue_.AsyncNext(&tag, &ok, deadline) == grpc::CompletionQueue::GOT_EVENT) OnAnswer(*static_cast<Slot*>(tag));
  }

  void Send(SteadyTime due) {
    if (free_.empty()) {
      Slot& slot = slots_.emplace_back();
      slot.channel = slots_.size() % stubs_.size();
      free_.push_back(&slot);
    }
    Slot& slot = *free_.back();
    free_.pop_back();
    slot.context.emplace();
    slot.due = due;
    slot.call = stubs_[slot.channel].PrepareUnaryCall(&*slot.context, "/vitrine.v1.Classifier/Classify",
                                                      requests_[sent_++ % requests_.size()], &queue_);
    slot.call->StartCall();
    slot.call->Finish(&slot.answer, &slot.status, &slot);
  }

  void OnAnswer(Slot& slot) {
    const SteadyTime now = Now();
    Begin(now);
    if (now >= measure_from_ && now < end_) {
      if (slot.status.ok()) {
        ++answered_;
        if (slot.due >= measure_from_) latencies_.push_back(Seconds(now - slot.due).count());
      } else {
        ++failed_;
        first_failure_ = first_failure_.empty() ? slot.status.error_message() : first_failure_;
      }
    }
    Look(slot);
    slot.answer.Clear();
    free_.push_back(&slot);
    if (options_.rate <= 0) Send(now);
  }

  // Reads the counters of processor time when the measured interval begins.
  void Begin(SteadyTime now) {
    if (begun_ || now < measure_from_) return;
    begun_ = true;
    own_cpu_ = OwnCpuSeconds();
    server_cpu_ = CpuSecondsOf(options_.server_pid);
    begun_at_ = now;
  }

  // Parses some of the answers: a server that answers nothing would be fast.
  void Look(Slot& slot) {
    if (!slot.status.ok() || looked_at_++ % 8 != 0) return;
    std::vector<grpc::Slice> slices;
    v1::ClassifyResponse response;
    std::string bytes;
    if (slot.answer.Dump(&slices).ok()) {
      for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    if (!response.ParseFromString(bytes) || response.predictions().empty()) {
      ++failed_;
      first_failure_ = "an answer holds no prediction";
    }
    batch_images_.push_back(response.batch().images());
    grids_.insert({response.grid().rows(), response.grid().columns()});
  }

  nlohmann::json Report(SteadyTime now) {
    const double seconds = Seconds(now - begun_at_).count();
    std::sort(latencies_.begin(), latencies_.end());
    const auto milliseconds = [&](double part) {
      return latencies_.empty() ? 0 : 1e3 * latencies_[static_cast<size_t>(part * (latencies_.size() - 1))];
    };
    double images = 0;
    for (const int batch : batch_images_) images += batch;
    return {{"answered", answered_},
            {"failed", failed_},
            {"first_failure", first_failure_},
            {"requests_per_second", answered_ / options_.seconds},
            {"latency_ms",
             {{"p50", milliseconds(0.5)},
              {"p90", milliseconds(0.9)},
              {"p99", milliseconds(0.99)},
              {"max", milliseconds(1)}}},
            {"picture_bytes", picture_bytes_},
            {"batch_images", batch_images_.empty() ? 0 : images / static_cast<double>(batch_images_.size())},
            {"grids", grids_.size()},
            {"generator_busy", begun_ ? (OwnCpuSeconds() - own_cpu_) / seconds : 0},
            {"server_busy", begun_ ? (CpuSecondsOf(options_.server_pid) - server_cpu_) / seconds : 0}};
  }

  const Options& options_;
  std::vector<grpc::ByteBuffer> requests_;
  double picture_bytes_ = 0;  // mean
  std::vector<grpc::GenericStub> stubs_;
  grpc::CompletionQueue queue_;
  std::deque<Slot> slots_;  // their addresses stay
  std::vector<Slot*> free_;
  SteadyTime start_, measure_from_, end_;
  uint64_t sent_ = 0;
  uint64_t scheduled_ = 0;

  bool begun_ = false;
  SteadyTime begun_at_;
  double own_cpu_ = 0;
  double server_cpu_ = 0;
  int64_t answered_ = 0;
  int64_t failed_ = 0;
  std::string first_failure_;
  std::vector<double> latencies_;
  uint64_t looked_at_ = 0;
  std::vector<int> batch_images_;
  std::set<std::pair<int, int>> grids_;
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Puts load on a server with pictures.", "bench_load");
  app.add_option("--server", options.server, "host:port")->required();
  app.add_option("--model", options.model, "name of the model")->required();
  app.add_option("--pictures", options.pictures, "files or folders")->required();
  app.add_option("--picture-bytes", options.picture_bytes,
                 "bring each file to this size; for a model that decodes none");
  app.add_option("--channels", options.channels, "connections")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--in-flight", options.in_flight, "requests per connection, in a closed loop")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--rate", options.rate, "requests per second, in an open loop; 0 is a closed loop");
  app.add_option("--warm-up", options.warm_up, "seconds before measuring")->capture_default_str();
  app.add_option("--seconds", options.seconds, "seconds measured")->capture_default_str();
  app.add_option("--server-pid", options.server_pid, "the server's process, to report how busy it is");
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<std::vector<std::string>> pictures = ReadPictures(options.pictures);
  if (!pictures.ok()) {
    std::cerr << "bench_load: " << pictures.status().message() << "\n";
    return 1;
  }
  Generator generator(options, *pictures);
  std::cout << generator.Run().dump() << "\n";
  Generator::Leave();
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
