#include "trainer/state.h"

#include <ATen/core/grad_mode.h>
#include <fcntl.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "repository/safetensors.h"
#include "trainer/recipe.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

absl::Status Fault(const fs::path& file, const std::string& fault) {
  return absl::FailedPreconditionError(absl::StrCat(file.string(), ": ", fault));
}

// Everything that the state holds as tensors, under the names of the file.
std::vector<NamedTensor> StateTensors(const Model& model, const Optimizer& optimizer) {
  std::vector<NamedTensor> all;
  for (const NamedTensor& tensor : model.Parameters()) all.push_back({"model." + tensor.name, tensor.tensor});
  for (const NamedTensor& tensor : model.Buffers()) all.push_back({"model." + tensor.name, tensor.tensor});
  for (const NamedTensor& tensor : optimizer.State()) all.push_back({"optimizer." + tensor.name, tensor.tensor});
  return all;
}

absl::Status SyncPath(const fs::path& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) return Fault(path, std::strerror(errno));
  const bool failed = fsync(descriptor) != 0;
  const int error = errno;
  close(descriptor);
  return failed ? Fault(path, std::strerror(error)) : absl::OkStatus();
}

absl::Status WriteAtomically(const fs::path& file, const std::string& bytes) {
  const fs::path temporary = file.string() + ".new";
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) return Fault(temporary, "cannot be written; is the disk full?");
  }
  RETURN_IF_ERROR(SyncPath(temporary, O_RDONLY));
  std::error_code error;
  fs::rename(temporary, file, error);
  if (error) return Fault(file, error.message());
  return SyncPath(file.parent_path(), O_RDONLY | O_DIRECTORY);
}

// The parts of a recipe that a continued run must share.
v1::Recipe Binding(v1::Recipe recipe) {
  recipe.clear_epochs();
  recipe.clear_evaluation_sizes();
  recipe.clear_evaluate_every();
  recipe.clear_description();
  recipe.clear_data();
  recipe.clear_storage();
  return recipe;
}

absl::Status CheckRecipe(const fs::path& file, const std::string& stored_text, const v1::Recipe& recipe) {
  v1::Recipe stored;
  if (!google::protobuf::TextFormat::ParseFromString(stored_text, &stored)) return Fault(file, "holds no recipe");
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(Binding(stored), Binding(recipe))) return absl::OkStatus();
  return Fault(file, absl::StrCat("belongs to another recipe; continue with the same settings, or train in another "
                                  "folder. Differences: ",
                                  differences));
}

template <typename Number>
std::string Exact(Number value) {
  std::ostringstream text;
  text.precision(17);
  text << value;
  return text.str();
}

absl::StatusOr<double> NumberAt(const Safetensors& content, const std::string& key, const fs::path& file) {
  const auto found = content.metadata.find(key);
  double value = 0;
  if (found != content.metadata.end() && absl::SimpleAtod(found->second, &value)) return value;
  return Fault(file, absl::StrCat("has no ", key));
}

absl::Status CopyTensors(const fs::path& file, const Safetensors& content, const Model& model,
                         const Optimizer& optimizer) {
  const at::AutoGradMode no_grad(false);
  const std::vector<NamedTensor> wanted = StateTensors(model, optimizer);
  if (wanted.size() != content.tensors.size()) {
    return Fault(file, absl::StrCat("has ", content.tensors.size(), " tensors, not ", wanted.size()));
  }
  for (const NamedTensor& tensor : wanted) {
    const auto found = content.tensors.find(tensor.name);
    if (found == content.tensors.end()) return Fault(file, absl::StrCat("lacks ", tensor.name));
    if (found->second.sizes() != tensor.tensor.sizes() || found->second.scalar_type() != tensor.tensor.scalar_type()) {
      return Fault(file, absl::StrCat(tensor.name, " has another shape or type"));
    }
    tensor.tensor.copy_(found->second);
  }
  return absl::OkStatus();
}

}  // namespace

fs::path StateFile(const fs::path& work_dir) {
  return work_dir / "state.safetensors";
}

absl::Status SaveState(const fs::path& work_dir, const v1::Recipe& recipe, const std::string& data_digest,
                       const RunPosition& position, const Model& model, const Optimizer& optimizer) {
  Safetensors content;
  for (const NamedTensor& tensor : StateTensors(model, optimizer)) {
    content.tensors[tensor.name] = tensor.tensor.detach().contiguous();
  }
  content.metadata = {{"recipe", PrintRecipe(recipe)},      {"data_digest", data_digest},
                      {"step", Exact(position.step)},       {"images", Exact(position.images)},
                      {"seconds", Exact(position.seconds)}, {"loss_sum", Exact(position.loss_sum)},
                      {"correct", Exact(position.correct)}, {"threads", Exact(position.threads)}};
  ASSIGN_OR_RETURN(const std::string bytes, WriteSafetensors(content));
  return WriteAtomically(StateFile(work_dir), bytes);
}

absl::StatusOr<RunPosition> RestoreState(const fs::path& work_dir, const v1::Recipe& recipe,
                                         const std::string& data_digest, Model& model, Optimizer& optimizer) {
  const fs::path file = StateFile(work_dir);
  std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  if (!in || !(bytes << in.rdbuf())) return absl::NotFoundError(absl::StrCat(file.string(), " cannot be read"));
  absl::StatusOr<Safetensors> content = ParseSafetensors(std::move(bytes).str());
  if (!content.ok()) return Fault(file, std::string(content.status().message()));
  RETURN_IF_ERROR(CheckRecipe(file, content->metadata["recipe"], recipe));
  if (content->metadata["data_digest"] != data_digest) {
    return Fault(file, "was written while training on other data (names or labels differ)");
  }
  RunPosition position;
  ASSIGN_OR_RETURN(position.step, NumberAt(*content, "step", file));
  ASSIGN_OR_RETURN(position.images, NumberAt(*content, "images", file));
  ASSIGN_OR_RETURN(position.seconds, NumberAt(*content, "seconds", file));
  ASSIGN_OR_RETURN(position.loss_sum, NumberAt(*content, "loss_sum", file));
  ASSIGN_OR_RETURN(position.correct, NumberAt(*content, "correct", file));
  ASSIGN_OR_RETURN(position.threads, NumberAt(*content, "threads", file));
  RETURN_IF_ERROR(CopyTensors(file, *content, model, optimizer));
  return position;
}

}  // namespace vitrine
