// SPDX-License-Identifier: Apache-2.0
#include "trainer/state.h"

#include <ATen/core/grad_mode.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <cstring>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/data/file.h"
#include "common/file/replace.h"
#include "common/status_macros.h"
#include "models/reference/checkpoint/stored_tensors.h"
#include "models/repository/files/safetensors.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

absl::Status StateFault(const fs::path& file, const std::string& fault) {
  return absl::FailedPreconditionError(absl::StrCat(file.string(), ": ", fault));
}

std::vector<NamedTensor> TensorsOf(const Module& module, const std::string& prefix) {
  std::vector<NamedTensor> all;
  for (const NamedTensor& tensor : module.Parameters()) all.push_back({prefix + tensor.name, tensor.tensor});
  for (const NamedTensor& tensor : module.Buffers()) all.push_back({prefix + tensor.name, tensor.tensor});
  return all;
}

// Returns all tensors of the state, with their names in the file.
std::vector<NamedTensor> StateTensors(const RunParts& parts) {
  std::vector<NamedTensor> all = TensorsOf(parts.model, "model.");
  for (const NamedTensor& tensor : parts.optimizer.State()) all.push_back({"optimizer." + tensor.name, tensor.tensor});
  if (parts.average != nullptr) {
    for (const NamedTensor& tensor : TensorsOf(*parts.average, "average.")) all.push_back(tensor);
  }
  return all;
}

// Returns the fields of a recipe that must be unchanged in a resumed run.
v1::Recipe Binding(v1::Recipe recipe) {
  recipe.clear_epochs();
  // `batch` and `accumulate` may change if batch x accumulate x processes stays equal. ResumePosition checks that.
  recipe.clear_batch();
  recipe.clear_accumulate();
  recipe.clear_evaluation_sizes();
  recipe.clear_evaluate_every();
  recipe.clear_evaluate_every_steps();
  recipe.clear_corrupt_limit();
  recipe.clear_description();
  recipe.clear_data();
  recipe.clear_storage();
  return recipe;
}

absl::StatusOr<v1::Recipe> ParseStored(const fs::path& file, const std::string& text) {
  v1::Recipe stored;
  if (!google::protobuf::TextFormat::ParseFromString(text, &stored)) return StateFault(file, "has no recipe");
  return stored;
}

// Parses the recipe in the state and compares it with `recipe`.
absl::StatusOr<v1::Recipe> CheckRecipe(const fs::path& file, const std::string& stored_text, const v1::Recipe& recipe) {
  ASSIGN_OR_RETURN(const v1::Recipe stored, ParseStored(file, stored_text));
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(Binding(stored), Binding(recipe))) return stored;
  return StateFault(file,
                    absl::StrCat("belongs to another recipe; continue with the same settings, or train in another "
                                 "folder. Differences: ",
                                 differences));
}

// Returns the image size at which a run measures during training.
std::string MeasuredSize(const v1::Recipe& recipe) {
  return recipe.evaluation_sizes().empty() ? "" : recipe.evaluation_sizes(0);
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
  return StateFault(file, absl::StrCat("has no ", key));
}

absl::Status Restore(const fs::path& file, const Safetensors& content, const std::vector<NamedTensor>& wanted) {
  const at::AutoGradMode no_grad(false);
  if (wanted.size() != content.tensors.size()) {
    return StateFault(file, absl::StrCat("has ", content.tensors.size(), " tensors, not ", wanted.size()));
  }
  for (const NamedTensor& tensor : wanted) {
    const auto found = content.tensors.find(tensor.name);
    if (found == content.tensors.end()) return StateFault(file, absl::StrCat("lacks ", tensor.name));
    const at::Tensor stored = TensorOf(found->second);
    if (stored.sizes() != tensor.tensor.sizes() || stored.scalar_type() != tensor.tensor.scalar_type()) {
      return StateFault(file, absl::StrCat(tensor.name, " has another shape or type"));
    }
    tensor.tensor.copy_(stored);
  }
  return absl::OkStatus();
}

absl::StatusOr<Safetensors> ReadTensors(const fs::path& file) {
  ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(file, int64_t{1} << 40));
  absl::StatusOr<Safetensors> content = ParseSafetensors(std::move(bytes));
  if (!content.ok()) return StateFault(file, std::string(content.status().message()));
  return content;
}

absl::Status Write(const fs::path& file, const std::vector<NamedTensor>& tensors,
                   std::map<std::string, std::string> metadata) {
  Safetensors content;
  for (const NamedTensor& tensor : tensors) content.tensors[tensor.name] = StoredOf(tensor.tensor);
  content.metadata = std::move(metadata);
  ASSIGN_OR_RETURN(const std::string bytes, WriteSafetensors(content));
  return ReplaceFile(file, bytes);
}

// Makes the current state the previous state, by a hard link. Ignores errors: there may be no state yet, or the file
// system may lack hard links.
void KeepPrevious(const fs::path& work_dir) {
  const fs::path previous = PreviousStateFile(work_dir), temporary = previous.string() + ".new";
  std::error_code error;
  fs::remove(temporary, error);
  fs::create_hard_link(StateFile(work_dir), temporary, error);
  if (!error) fs::rename(temporary, previous, error);
}

// Content of a state, and the file with that state.
struct ReadState {
  fs::path file;
  Safetensors content;
  std::string last_fault = {};  // see RunPosition::last_fault
};

// Reads the last state or, if it is missing or damaged, the previous state. If the last state exists but cannot be read
// now, returns the error: a run that continued from the previous state would overwrite the last state.
absl::StatusOr<ReadState> ReadNewestState(const fs::path& work_dir) {
  const fs::path file = StateFile(work_dir), previous = PreviousStateFile(work_dir);
  absl::StatusOr<Safetensors> last = ReadTensors(file);
  if (last.ok()) return ReadState{file, *std::move(last)};
  const absl::StatusCode code = last.status().code();
  if (code == absl::StatusCode::kPermissionDenied || code == absl::StatusCode::kResourceExhausted ||
      code == absl::StatusCode::kUnavailable) {
    return last.status();
  }
  const std::string fault(last.status().message());
  std::error_code ignored;
  if (!fs::exists(previous, ignored)) return absl::FailedPreconditionError(fault);
  absl::StatusOr<Safetensors> before = ReadTensors(previous);
  if (before.ok()) return ReadState{previous, *std::move(before), fault};
  return absl::FailedPreconditionError(absl::StrCat(fault, "; and the previous state: ", before.status().message(),
                                                    "; start again in a new folder, without --resume"));
}

fs::path BestFile(const fs::path& work_dir) {
  return work_dir / "best.safetensors";
}

}  // namespace

fs::path StateFile(const fs::path& work_dir) {
  return work_dir / "state.safetensors";
}

fs::path PreviousStateFile(const fs::path& work_dir) {
  return work_dir / "state.previous.safetensors";
}

bool HasState(const fs::path& work_dir) {
  std::error_code ignored;
  return fs::exists(StateFile(work_dir), ignored) || fs::exists(PreviousStateFile(work_dir), ignored);
}

absl::Status CheckWorkFolder(const fs::path& work_dir, bool resume) {
  if (resume || !HasState(work_dir)) return absl::OkStatus();
  return StateFault(work_dir,
                    "has the state of a run; continue it with --resume, or start a new run in another folder");
}

absl::Status CheckRoomForState(const fs::path& work_dir, const RunParts& parts) {
  std::error_code error;
  fs::create_directories(work_dir, error);
  if (error) return StateFault(work_dir, absl::StrCat("cannot be created: ", error.message()));
  RETURN_IF_ERROR(ReplaceFile(work_dir / "writable", "yes\n"));
  fs::remove(work_dir / "writable", error);
  int64_t needed = 0;
  for (const NamedTensor& tensor : StateTensors(parts)) needed += tensor.tensor.nbytes();
  // Space for four files: the last two states (which stay until the new state is complete), the new state, and the best
  // weights.
  needed *= 4;
  // A resumed run already has some of these files.
  for (const fs::path& file : {StateFile(work_dir), PreviousStateFile(work_dir), BestFile(work_dir)}) {
    const uintmax_t size = fs::file_size(file, error);
    if (!error) needed -= static_cast<int64_t>(size);
  }
  const fs::space_info space = fs::space(work_dir, error);
  if (error || static_cast<int64_t>(space.available) >= needed) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(work_dir.string(), ": the run's states need ", needed >> 20,
                                                   " MiB, but the disk has ", space.available >> 20, " MiB left"));
}

absl::Status SaveState(const fs::path& work_dir, const RunParts& parts, RunPosition& position) {
  std::map<std::string, std::string> metadata = {{"recipe", PrintRecipe(parts.recipe)},
                                                 {"data_digest", parts.data_digest},
                                                 {"step", Exact(position.step)},
                                                 {"samples", Exact(position.samples)},
                                                 {"seconds", Exact(position.seconds)},
                                                 {"loss_sum", Exact(position.loss_sum)},
                                                 {"correct", Exact(position.correct)},
                                                 {"predictions", Exact(position.predictions)},
                                                 {"threads", Exact(position.threads)},
                                                 {"processes", Exact(position.processes)},
                                                 {"samples_per_step", Exact(position.samples_per_step)},
                                                 {"best_step", Exact(position.best_step)},
                                                 {"unmeasured", Exact(position.unmeasured)}};
  if (position.best) metadata["best"] = Exact(*position.best);
  if (position.last_fault.empty()) KeepPrevious(work_dir);
  RETURN_IF_ERROR(Write(StateFile(work_dir), StateTensors(parts), std::move(metadata)));
  position.last_fault.clear();
  return absl::OkStatus();
}

absl::StatusOr<v1::Recipe> RecipeOfState(const fs::path& work_dir) {
  ASSIGN_OR_RETURN(ReadState read, ReadNewestState(work_dir));
  return ParseStored(read.file, read.content.metadata["recipe"]);
}

absl::StatusOr<RunPosition> RestoreState(const fs::path& work_dir, const RunParts& parts) {
  ASSIGN_OR_RETURN(ReadState read, ReadNewestState(work_dir));
  const fs::path& file = read.file;
  Safetensors& content = read.content;
  ASSIGN_OR_RETURN(const v1::Recipe stored, CheckRecipe(file, content.metadata["recipe"], parts.recipe));
  if (content.metadata["data_digest"] != parts.data_digest) {
    return StateFault(file, "was written while training on other data (names, labels or images differ)");
  }
  RunPosition position;
  position.last_fault = read.last_fault;
  position.epochs = stored.epochs();
  ASSIGN_OR_RETURN(position.step, NumberAt(content, "step", file));
  ASSIGN_OR_RETURN(position.samples, NumberAt(content, "samples", file));
  ASSIGN_OR_RETURN(position.seconds, NumberAt(content, "seconds", file));
  ASSIGN_OR_RETURN(position.loss_sum, NumberAt(content, "loss_sum", file));
  ASSIGN_OR_RETURN(position.correct, NumberAt(content, "correct", file));
  ASSIGN_OR_RETURN(position.predictions, NumberAt(content, "predictions", file));
  ASSIGN_OR_RETURN(position.threads, NumberAt(content, "threads", file));
  ASSIGN_OR_RETURN(position.processes, NumberAt(content, "processes", file));
  ASSIGN_OR_RETURN(position.samples_per_step, NumberAt(content, "samples_per_step", file));
  ASSIGN_OR_RETURN(position.best_step, NumberAt(content, "best_step", file));
  ASSIGN_OR_RETURN(position.unmeasured, NumberAt(content, "unmeasured", file));
  if (content.metadata.contains("best")) {
    ASSIGN_OR_RETURN(position.best, NumberAt(content, "best", file));
    position.forgot_best = MeasuredSize(stored) != MeasuredSize(parts.recipe);
    if (position.forgot_best) position.best.reset();
  }
  RETURN_IF_ERROR(Restore(file, content, StateTensors(parts)));
  return position;
}

absl::Status SaveBest(const fs::path& work_dir, const Module& model) {
  return Write(BestFile(work_dir), TensorsOf(model, ""), {});
}

absl::Status LoadBest(const fs::path& work_dir, const Module& model) {
  ASSIGN_OR_RETURN(const Safetensors content, ReadTensors(BestFile(work_dir)));
  return Restore(BestFile(work_dir), content, TensorsOf(model, ""));
}

absl::Status SaveBatch(const fs::path& file, const TrainingBatch& batch) {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < batch.images.size(); ++i) tensors.push_back({absl::StrCat("image.", i), batch.images[i]});
  const std::pair<const char*, const at::Tensor&> others[] = {{"source", batch.sequences.source},
                                                              {"target", batch.sequences.target},
                                                              {"labels", batch.labels},
                                                              {"targets", batch.targets},
                                                              {"teacher_labels", batch.teacher_labels}};
  for (const auto& [name, tensor] : others) {
    if (tensor.defined()) tensors.push_back({name, tensor});
  }
  return Write(file, tensors, {});
}

}  // namespace vitrine
