// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/against/timm_side.h"

#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

using Json = nlohmann::json;

constexpr char kScript[] =
#include "timm_side.inc"
    ;

absl::Status CannotRun(const std::string& python, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat("--python ", python, " cannot be run: ", std::strerror(error), "; name a Python 3 with timm"));
}

// Starts `python` with the script. `socket` becomes the stdin of `python`, whose stdout goes to our stderr.
absl::StatusOr<pid_t> Spawn(const std::string& python, int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  std::string words[] = {python, "-c", kScript};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, python.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return CannotRun(python, error);
  return child;
}

bool SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool ReceiveAll(int socket, char* to, size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = recv(socket, to, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

// Returns the preprocessing (with a fixed resolution) as members of timm's configuration; no members if it is null.
Json ConfigOf(const v1::Preprocessing* preprocessing) {
  if (preprocessing == nullptr) return Json::object();
  const v1::FixedResolution& fixed = preprocessing->fixed();
  return {{"input_size", {preprocessing->channels(), fixed.height(), fixed.width()}},
          {"mean", std::vector<float>(preprocessing->mean().begin(), preprocessing->mean().end())},
          {"std", std::vector<float>(preprocessing->std().begin(), preprocessing->std().end())},
          {"interpolation", preprocessing->interpolation() == v1::BILINEAR ? "bilinear" : "bicubic"},
          {"crop_pct", fixed.crop() == 0 ? 1 : fixed.crop()},
          {"crop_mode", fixed.fit() == v1::FixedResolution::STRETCH ? "squash" : "center"}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<TimmProcess>> TimmProcess::Start(const std::string& python, const std::string& arch,
                                                                int classes, std::string_view weights,
                                                                const v1::Preprocessing* preprocessing) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return FileError(errno, "socketpair");
  FileDescriptor ours(sockets[0]);
  pid_t child = 0;
  {
    // The parent closes its copy of the child's socket after the fork. With that copy open, the parent would not notice
    // that the child has ended.
    const FileDescriptor theirs(sockets[1]);
    ASSIGN_OR_RETURN(child, Spawn(python, theirs.get()));
  }
  std::unique_ptr<TimmProcess> side(new TimmProcess(python, std::move(ours), child));
  ASSIGN_OR_RETURN(
      const Message answer,
      side->Exchange(Json{{"arch", arch}, {"classes", classes}, {"config", ConfigOf(preprocessing)}}.dump(), weights));
  const Json told = Json::parse(answer.line);
  side->description_ = absl::StrCat(told["versions"].get<std::string>(), ": ", told["config"].dump());
  return side;
}

TimmProcess::~TimmProcess() {
  kill(child_, SIGTERM);
  waitpid(child_, nullptr, 0);
}

absl::StatusOr<TimmProcess::Answer> TimmProcess::Ask(std::string_view image) {
  ASSIGN_OR_RETURN(const Message answer, Exchange("{}", image));
  Answer asked;
  asked.input.shape = Json::parse(answer.line)["shape"].get<std::vector<int64_t>>();
  const auto inputs = static_cast<size_t>(
      std::accumulate(asked.input.shape.begin(), asked.input.shape.end(), int64_t{1}, std::multiplies<>()));
  const size_t values = answer.bytes.size() / sizeof(float);
  if (values < inputs) return absl::InternalError("timm's response is shorter than its shape");
  asked.input.values.resize(inputs);
  asked.logits.resize(values - inputs);
  std::memcpy(asked.input.values.data(), answer.bytes.data(), inputs * sizeof(float));
  std::memcpy(asked.logits.data(), answer.bytes.data() + inputs * sizeof(float), asked.logits.size() * sizeof(float));
  return asked;
}

absl::StatusOr<TimmProcess::Message> TimmProcess::Exchange(const std::string& request, std::string_view bytes) {
  Json json = Json::parse(request);
  json["bytes"] = bytes.size();
  // If sending fails, the child has ended; its last message can still be read.
  (void)(SendAll(socket_.get(), absl::StrCat(json.dump(), "\n")) && SendAll(socket_.get(), bytes));
  return Receive();
}

absl::StatusOr<TimmProcess::Message> TimmProcess::Receive() {
  Message message;
  char next = 0;
  while (ReceiveAll(socket_.get(), &next, 1) && next != '\n') message.line.push_back(next);
  const Json json = Json::parse(message.line, nullptr, /*allow_exceptions=*/false);
  if (next != '\n' || !json.is_object()) {
    return absl::FailedPreconditionError(
        absl::StrCat("--python ", python_, " ended without a response; see its output above"));
  }
  RETURN_IF_ERROR(FaultOf(message.line));
  message.bytes.resize(json.value("bytes", size_t{0}));
  if (!ReceiveAll(socket_.get(), message.bytes.data(), message.bytes.size())) {
    return absl::FailedPreconditionError(absl::StrCat("--python ", python_, " ended in the middle of a response"));
  }
  return message;
}

absl::Status TimmProcess::FaultOf(const std::string& line) const {
  const Json json = Json::parse(line);
  if (json.contains("lacks")) {
    return absl::FailedPreconditionError(
        absl::StrCat("--python ", python_, " has no timm (", json["lacks"].get<std::string>(),
                     "); `pip install timm safetensors` in an environment, and name its interpreter with --python"));
  }
  if (json.contains("unread")) {
    return absl::InvalidArgumentError(absl::StrCat("Pillow cannot decode it: ", json["unread"].get<std::string>()));
  }
  if (json.contains("error")) {
    return absl::FailedPreconditionError(absl::StrCat("timm: ", json["error"].get<std::string>()));
  }
  return absl::OkStatus();
}

}  // namespace vitrine
