// SPDX-License-Identifier: Apache-2.0
#include "client/score/score.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/commands/embed_command.h"
#include "client/commands/output/text.h"
#include "client/eval/run/ready_model.h"
#include "client/eval/run/rounds.h"
#include "client/eval/run/run_progress.h"
#include "client/lib/numbers.h"
#include "client/score/chunk_writer.h"
#include "common/data/unlabelled.h"
#include "common/drawing/attention_words.h"
#include "common/file/process_lock.h"
#include "common/file/write.h"
#include "common/imaging/geometry.h"
#include "common/sha256.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

std::string DigestOfNames(const ImageSet& images) {
  Sha256Stream digest;
  for (int64_t i = 0; i < images.size(); ++i) digest.Update(images.name(i) + "\n");
  return digest.Hex();
}

absl::Status Annotated(const absl::Status& status, const std::string& remedy) {
  return absl::Status(status.code(), absl::StrCat(status.message(), "; ", remedy));
}

// Returns the number of values in the vectors of an image.
int64_t Numbers(const ScoreSettings& settings) {
  return int64_t{settings.width} * std::max(settings.registers, 1);
}

// Returns the number of rows that fit into 64 MiB of memory.
int64_t RowsInMemory(const ScoreSettings& settings) {
  constexpr int64_t kMost = int64_t{64} << 20;
  constexpr int64_t kRow = 512, kPrediction = 200;  // bytes, mostly of the line of JSON
  return kMost / (kRow + kPrediction * settings.top_k + int64_t{4} * Numbers(settings));
}

// Scorer that sends the images to servers.
class ServerScorer final : public Scorer {
 public:
  ServerScorer(ImageRounds::Options options, const ImageSet& data, const v1::ModelVersion& model,
               std::unique_ptr<Client> client, RunProgress& progress, RoundsClient& user)
      : rounds_(std::move(options), data, model, std::move(client), progress, user) {}

  void KnowReadable(int64_t index) override { rounds_.KnowReadable(index); }
  absl::Status Score(std::vector<int64_t> images) override {
    rounds_.Ask(std::move(images));
    rounds_.GiveUpUnanswered();
    return rounds_.Ended();
  }
  void Stop(const absl::Status& why) override { rounds_.Stop(why); }
  int in_flight() const override { return rounds_.in_flight(); }

 private:
  ImageRounds rounds_;
};

// One call of RunScore.
class ScoreRun final : public RoundsClient {
 public:
  ScoreRun(const ScoreCommand& command, ProgressDisplay& display, const std::atomic<bool>* stop)
      : command_(command), display_(display), stop_(stop) {}

  absl::StatusOr<ScoreResult> Do() {
    RETURN_IF_ERROR(OpenSource());
    RETURN_IF_ERROR(MakeFolder(command_.out));
    ASSIGN_OR_RETURN(const FileDescriptor lock, Lock());
    absl::StatusOr<ScoreIndex> before = ReadScoreIndex(command_.out);
    if (absl::IsFailedPrecondition(before.status())) return before.status();
    if (command_.restart) before = absl::NotFoundError("");
    const bool continues = before.ok();
    if (continues) {
      RETURN_IF_ERROR(Continue(*std::move(before)));
      if (const ScoreCounts counts = CountScores(index_); counts.complete()) {
        display_.Line(RowsInWords(counts));
        return ScoreResult{.index = std::move(index_)};
      }
    } else if (!absl::IsNotFound(before.status())) {
      return Annotated(before.status(), "--restart discards the scores, another --out keeps them");
    }
    RETURN_IF_ERROR(ChooseVersion());
    if (command_.restart)
      RETURN_IF_ERROR(DiscardScores(command_.out));  // not earlier, so that a failed start keeps the scores
    if (continues) RETURN_IF_ERROR(RemoveOtherChunks(command_.out, index_));
    // Writes the index before the first chunk, so that a later run in this folder uses the same version.
    RETURN_IF_ERROR(ListChunks());
    const absl::Status stopped = WriteChunks();
    return ScoreResult{.index = std::move(index_), .stopped = stopped};
  }

 private:
  std::string RowsInWords(const ScoreCounts& before) const {
    return absl::StrCat("vitrine: ", Printable(command_.out), " has rows of ", before.rows, " images already; ",
                        before.expected - before.rows, " are left");
  }

  bool HasVectors() const { return command_.embeddings != v1::FEATURE_KIND_UNSPECIFIED; }

  absl::StatusOr<FileDescriptor> Lock() {
    absl::StatusOr<FileDescriptor> lock = LockForProcess(absl::StrCat(command_.out, "/lock"));
    if (absl::IsUnimplemented(lock.status())) {
      display_.Line(absl::StrCat("vitrine: ", Printable(lock.status().message()), "; start no second run on it"));
      return FileDescriptor();
    }
    if (!absl::IsAlreadyExists(lock.status())) return lock;
    return absl::FailedPreconditionError(absl::StrCat("another run is writing to ", command_.out, " (",
                                                      lock.status().message(),
                                                      "); wait for its end or give another --out"));
  }

  absl::Status OpenSource() {
    ASSIGN_OR_RETURN(UnlabelledImages opened, OpenUnlabelled(command_.source));
    images_ = std::move(opened.images);
    if (!opened.passed_over.empty()) {
      display_.Line(absl::StrCat("vitrine: skipped: ", Printable(opened.passed_over)));
    }
    ScoreSettings& settings = index_.settings;
    settings.source = command_.source;
    settings.images = images_->size();
    settings.names_sha256 = DigestOfNames(*images_);
    settings.top_k = command_.top_k;
    if (command_.resolution.has_value()) {
      settings.resolution = absl::StrCat(command_.resolution->height(), "x", command_.resolution->width());
    }
    if (HasVectors()) settings.vectors = FeatureKindName(command_.embeddings);
    index_.shard = command_.shard;
    return absl::OkStatus();
  }

  // Continues `before` if its settings equal the settings of the command. Values that the command does not give are
  // taken from `before`.
  absl::Status Continue(ScoreIndex before) {
    ScoreSettings now = index_.settings;
    now.model = command_.model.name.empty() ? before.settings.model : command_.model.name;
    now.version = command_.model.version.value_or(before.settings.version);
    now.weights_sha256 = before.settings.weights_sha256;
    now.precision = command_.local.repository.empty() ? before.settings.precision : command_.local.precision;
    const int top_k = std::min(now.top_k, static_cast<int>(before.labels.size()));
    if (top_k == before.settings.top_k) now.top_k = top_k;  // otherwise, the error names the user's number
    absl::Status same = CheckSameScores(before.settings, now);
    if (same.ok() && !(before.shard == index_.shard)) {
      same = absl::FailedPreconditionError(
          absl::StrCat("--shard was ", ToString(before.shard), ", now it is ", ToString(index_.shard)));
    }
    if (!same.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(command_.out, " holds other scores: ", same.message(),
                                                        "; give another --out, or --restart to discard its ",
                                                        CountScores(before).rows, " rows"));
    }
    if (before.settings.source != command_.source) {
      display_.Line(absl::StrCat("vitrine: the rows of ", Printable(command_.out), " are of the images of ",
                                 Printable(before.settings.source), "; the images of ", Printable(command_.source),
                                 " have the same names and count as the same; if they are others, give --restart or "
                                 "another --out"));
    }
    index_ = std::move(before);
    if (!command_.model.label.empty()) {
      display_.Line(absl::StrCat("vitrine: ", Printable(command_.out), " stays with version ", index_.settings.version,
                                 "; the label ", Printable(command_.model.label), " is not used"));
    }
    return absl::OkStatus();
  }

  // Loads the version in this process, or connects to a server that has it.
  absl::Status OpenModel(const ModelChoice& choice) {
    if (!command_.local.repository.empty()) {
      ASSIGN_OR_RETURN(local_, LoadLocally(command_.local, choice));
      model_ = local_->Describe();
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(auto ready, AwaitModel(command_.client, choice, command_.patience, display_, stop_));
    client_ = std::move(ready.first);
    model_ = std::move(ready.second);
    return absl::OkStatus();
  }

  // Opens the version with which an earlier run began the folder. If there was no earlier run, opens the version that
  // the command chooses.
  absl::Status ChooseVersion() {
    ScoreSettings& settings = index_.settings;
    const bool begun = settings.version > 0;
    ModelChoice choice = command_.model;
    if (begun) choice = {.name = settings.model, .version = settings.version};
    const absl::Status opened = OpenModel(choice);
    const std::string version = absl::StrCat(settings.model, "@", settings.version);
    if (begun && (absl::IsNotFound(opened) || absl::IsFailedPrecondition(opened))) {
      const std::string remedy = command_.local.repository.empty()
                                     ? absl::StrCat("load it again (vitrine admin load ", version, "), or ")
                                     : "";
      return Annotated(opened, absl::StrCat(command_.out, " was begun with ", version, "; ", remedy,
                                            "give another --out or --restart"));
    }
    RETURN_IF_ERROR(opened);
    if (begun && model_.weights_sha256() != settings.weights_sha256) {
      return absl::FailedPreconditionError(absl::StrCat(command_.out, " was begun with ", version, " and the weights ",
                                                        settings.weights_sha256, ", now its weights are ",
                                                        model_.weights_sha256(), "; give another --out or --restart"));
    }
    RETURN_IF_ERROR(CheckResolution());
    settings.model = model_.model();
    settings.version = model_.version();
    settings.weights_sha256 = model_.weights_sha256();
    settings.top_k = std::min(command_.top_k, model_.labels_size());
    index_.labels.assign(model_.labels().begin(), model_.labels().end());
    if (settings.top_k == 0 && !HasVectors()) {
      return absl::FailedPreconditionError(
          absl::StrCat(Printable(model_.model()), " has no classes; give --embeddings, which writes its vectors"));
    }
    if (HasVectors()) {
      RETURN_IF_ERROR(ChooseFeatureKind(command_.embeddings, model_).status());
      const bool is_projection = command_.embeddings == v1::PROJECTION;
      if (settings.width == 0) {
        settings.width = is_projection ? model_.config().vit().projection() : model_.feature_width();
        if (command_.embeddings == v1::REGISTER_TOKENS) settings.registers = model_.config().vit().registers();
      }
    }
    return absl::OkStatus();
  }

  // Rejects a resolution with which every image would be refused.
  absl::Status CheckResolution() const {
    if (!command_.resolution.has_value() || !model_.config().has_preprocessing()) return absl::OkStatus();
    const Size size = {command_.resolution->height(), command_.resolution->width()};
    const absl::Status planned = PlanGeometry(model_.config().preprocessing(), size, size).status();
    return planned.ok() ? planned : absl::InvalidArgumentError(absl::StrCat("--resolution: ", planned.message()));
  }

  // Scores the images without a row. Returns OK if every image of the shard has a row then, else the reason.
  absl::Status WriteChunks() {
    const ScoreCounts before = CountScores(index_);
    RunProgress progress(display_, before.expected);
    progress_ = &progress;
    progress.Count(Outcome::kAnswered, before.rows - before.unreadable - before.refused, std::nullopt, /*again=*/true);
    progress.Count(Outcome::kUnreadable, before.unreadable, std::nullopt, /*again=*/true);
    progress.Count(Outcome::kRefused, before.refused, std::nullopt, /*again=*/true);
    if (before.rows > 0) progress.Line(RowsInWords(before));
    if (local_ != nullptr) {
      scorer_ = std::make_unique<LocalScorer>(LocalScorer::Options{.source = command_.source, .stop = stop_}, *local_,
                                              *images_, progress, *this);
    } else {
      scorer_ = std::make_unique<ServerScorer>(
          ImageRounds::Options{
              .client = command_.client, .patience = command_.patience, .source = command_.source, .stop = stop_},
          *images_, model_, std::move(client_), progress, *this);
    }
    NameReadable();
    const auto [first, last] = ImagesOf(index_.shard, index_.settings.images);
    absl::Status stopped;
    const int64_t chunk = std::min(command_.chunk, RowsInMemory(index_.settings));
    for (int64_t next = first + before.rows; next < last && stopped.ok(); next += chunk) {
      stopped = WriteChunk(next, std::min(chunk, last - next));
      if (IndexIsDue(index_.chunks.size(), listed_)) stopped.Update(ListChunks());
    }
    if (listed_ < index_.chunks.size()) stopped.Update(ListChunks());
    if (progress.asked() > 0) progress.DrawEnd(scorer_->in_flight(), absl::Now());
    return stopped;
  }

  // Finds an image that can be read, among up to 64 images of the whole source. Images of other shards are included,
  // because all images that this run still has to score may be missing.
  void NameReadable() {
    constexpr int64_t kLooks = 64;
    const int64_t size = images_->size(), looks = std::min(kLooks, size);
    for (int64_t look = 0; look < looks; ++look) {
      const int64_t index = look * (size / looks);
      if (images_->encoded(index).ok()) return scorer_->KnowReadable(index);
    }
  }

  // Writes the index. After an error, index_ has only the chunks that the file lists.
  absl::Status ListChunks() {
    absl::Status written = WriteScoreIndex(command_.out, index_);
    if (!written.ok()) index_.chunks.resize(listed_);
    listed_ = index_.chunks.size();
    return written;
  }

  // Scores the images and adds their chunk. After a stop, the chunk ends before the first image without a result.
  absl::Status WriteChunk(int64_t first, int64_t images) {
    ChunkWriter writer(index_.settings, first, images);
    writer_ = &writer;
    std::vector<int64_t> indices(static_cast<size_t>(images));
    std::iota(indices.begin(), indices.end(), first);
    const absl::Status stopped = scorer_->Score(std::move(indices));
    if (writer.chunk().images > 0) {
      ASSIGN_OR_RETURN(ScoreChunk chunk, writer.Write(command_.out));
      index_.chunks.push_back(std::move(chunk));
    }
    return stopped;
  }

  v1::ClassifyRequest RequestWith(std::string image) const override {
    v1::ClassifyRequest request;
    request.set_model(model_.model());
    request.set_version(model_.version());
    if (index_.settings.top_k > 0) request.set_top_k(index_.settings.top_k);
    request.set_omit_predictions(index_.settings.top_k == 0);
    request.set_priority(command_.priority);
    if (command_.resolution.has_value()) *request.mutable_resolution() = *command_.resolution;
    if (HasVectors()) request.add_features()->set_kind(command_.embeddings);
    request.set_image(std::move(image));
    return request;
  }

  absl::Status TakeAnswer(const SentImage& image, const v1::ClassifyResponse& answer) override {
    std::string& precision = index_.settings.precision;
    if (precision.empty()) precision = answer.served_by().precision();
    if (answer.served_by().precision() != precision) {
      scorer_->Stop(absl::FailedPreconditionError(absl::StrCat(
          "the model now computes in ", answer.served_by().precision(), ", but ", command_.out, " was begun in ",
          precision, "; use --precision ", precision, " again, or give another --out or --restart")));
      return absl::OkStatus();
    }
    std::vector<float> vector;
    if (HasVectors()) {
      // UNIMPLEMENTED ends the run, because all other answers will also lack the features.
      if (answer.features_size() != 1) {
        return absl::UnimplementedError("the server answered without the features; it may be older than this program");
      }
      ASSIGN_OR_RETURN(vector, FeatureValues(answer.features(0)));
      ScoreSettings& settings = index_.settings;
      if (settings.width == 0) {
        if (command_.embeddings == v1::REGISTER_TOKENS) settings.registers = answer.features(0).columns();
        settings.width = static_cast<int>(vector.size()) / std::max(settings.registers, 1);
      }
      if (const auto size = static_cast<int64_t>(vector.size()); size != Numbers(settings)) {
        return absl::InternalError(absl::StrCat("the vector has ", size, " numbers instead of ", Numbers(settings)));
      }
    }
    writer_->Add(image.index, images_->name(image.index), answer, std::move(vector));
    progress_->Count(Outcome::kAnswered, 1, std::nullopt, /*again=*/false);
    return absl::OkStatus();
  }

  void TakeFailure(const SentImage& image, Outcome outcome, const absl::Status& why) override {
    writer_->AddFailure(image.index, images_->name(image.index), outcome, why);
    progress_->Count(outcome, 1, std::nullopt, /*again=*/false);
  }

  const ScoreCommand& command_;
  ProgressDisplay& display_;
  const std::atomic<bool>* const stop_;

  std::unique_ptr<ImageSet> images_;
  ScoreIndex index_;
  size_t listed_ = 0;  // number of chunks in the index file
  v1::ModelVersion model_;
  std::unique_ptr<LocalModel> local_;  // null: servers compute
  std::unique_ptr<Client> client_;     // moved into scorer_
  RunProgress* progress_ = nullptr;
  std::unique_ptr<Scorer> scorer_;
  ChunkWriter* writer_ = nullptr;  // writer of the current chunk
};

}  // namespace

absl::StatusOr<ScoreResult> RunScore(const ScoreCommand& command, ProgressDisplay& display,
                                     const std::atomic<bool>* stop) {
  if (command.out.empty()) return absl::InvalidArgumentError("--out is missing, the folder for the rows");
  if (command.chunk < 1 || command.chunk > kLargestChunk) {
    return absl::InvalidArgumentError(absl::StrCat("--chunk must be 1 to ", kLargestChunk, ", got ", command.chunk));
  }
  return ScoreRun(command, display, stop).Do();
}

}  // namespace vitrine
