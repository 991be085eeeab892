// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_BATCH_RUN_H_
#define VITRINE_SERVER_SERVE_EXECUTION_BATCH_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "models/attention_maps.h"
#include "models/features.h"
#include "models/float_array.h"
#include "models/token_layout.h"
#include "server/observe/model_metrics.h"
#include "server/registry/version/loaded_model.h"
#include "server/serve/execution/execute_batch.h"
#include "server/serve/execution/helpers.h"
#include "server/serve/execution/image_input.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/serve/scheduling/scheduler.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Processes one batch, from the requests' inputs (encoded images or tensors) to the answers. For use by one thread.
// Decoding and computing are in batch_run.cc, answers and errors in batch_answers.cc.
class BatchRun {
 public:
  // Takes the requests of `batch`, which must have at least one request. `batch` must outlive this object, because the
  // executor counts as busy until `batch` is destroyed. `context` must outlive this object, too.
  BatchRun(Batch& batch, const BatchContext& context);

  // Answers every request: see ExecuteBatch. May be called only once.
  void Run();

 private:
  // One request of a batch while the executor processes it.
  struct Item {
    std::unique_ptr<InferenceRequest> request;  // null after the answer
    Grid grid;
    ImageInput input;
    std::optional<absl::Duration> decode;              // set once decoding was tried
    std::optional<absl::Duration> encode;              // set once encoding was tried
    std::vector<std::vector<AttentionMap>> attention;  // maps for each entry of the request's attention; set by Compute
    std::vector<FeatureMap> features;                  // map for each entry of the request's features; set by Compute
  };

  // --- decoding and computing

  // Decodes the images. Ends requests whose image is damaged. Ends cancelled or expired requests before each decoding,
  // and again after all decoding, which can take long.
  void Decode();
  // Ends a cancelled or expired request; returns true if it did.
  bool EndIfUnwanted(Item& item) const;
  // Records a stage if the request is traced.
  static void Note(const Item& item, Stage stage, absl::Time begin, absl::Time end);
  // Records the compute stage of every item. Called after the model has run or failed, before any item is answered.
  void NoteCompute(absl::Time begin, absl::Time end) const;
  // Sorts items with features to the end, since the model computes additional tokens for them. Items of equal grids
  // become neighbours, because they share grid-dependent work.
  void Sort();
  // Checks that the decoded input has the planned size. A wrong size is a fault of the server, and would cause reads
  // out of bounds.
  absl::Status CheckFits(const Item& item) const;
  // Computes the items in [first, last). Divides them into runs of the model; EndOfRun returns the end of each run.
  // Requires that all items have features, or that no item has features.
  absl::Status ComputePart(size_t first, size_t last);
  // Returns the end of the run that begins at item `first`. The attention matrices of a run have at most
  // max_matrix_bytes in total, except if the run has only one item.
  size_t EndOfRun(size_t first, size_t last) const;
  // Runs the model once for the items in [first, last), and collects their attention and features.
  absl::Status ComputeRun(size_t first, size_t last);
  // Returns true if the server chose the version of the item's model.
  static bool IsRouted(const Item& item) { return item.request->is_routed; }
  // If this version is a canary: at intervals, computes the image of item `i` with the stable version too, and records
  // the comparison. Called after every request of the batch is answered.
  void ComputePaired(size_t i) const;
  // Computes all items and records the cost. After an error, computing_since_ stays set, so that FailRest counts
  // the compute time.
  absl::Status Compute();
  // Lets idle executors help to compute this batch, if the gain is worth waking them.
  std::optional<Helpers> SendToTeam(int64_t tokens) const;

  // --- answers and errors

  // Returns the class with the highest logit; if several logits are equal, the first of these classes.
  static int64_t FirstClass(std::span<const float> logits);
  // Returns the items' indices by increasing overlay pixels, because drawing one overlay takes longer than making all
  // answers without overlays.
  std::vector<size_t> AnswerOrder() const;
  // Makes the answer for item `i` with the responder. Passes the item's image to the responder, without a copy.
  absl::StatusOr<v1::ClassifyResponse> Answer(int i);
  // Counts the item's stages and gives the answer to its request.
  void Finish(Item& item, absl::StatusOr<v1::ClassifyResponse> answer) const;
  // Counts the item's stages, even if its request failed: if all requests fail because they are late, only these counts
  // show which stage is slow.
  void CountStages(const Item& item, bool answered) const;
  // Gives an error to every request that has no answer yet.
  void FailRest(const absl::Status& answer);
  // Returns the answer to the requests of a batch that could not be computed.
  absl::Status AnswerTo(const absl::Status& error) const;
  // Logs the cause of a failed batch. Returns INTERNAL without the cause, for the clients.
  absl::Status Fault(absl::string_view why) const;
  // Logs the computed batch: its images, tokens, grids and compute time.
  void Log() const;

  const uint64_t id_;
  const ModelHandle model_;
  const BatchContext& context_;
  ModelMetrics& metrics_;
  const absl::Time start_;

  std::vector<Item> items_;
  FloatArray logits_;                          // logits of all images, [images, classes]
  std::optional<absl::Time> computing_since_;  // set while the model runs, and after it has failed
  absl::Duration compute_;                     // time of all runs of the model
  absl::Duration collect_;                     // time to collect attention and features between and after the runs
  v1::BatchInfo info_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_BATCH_RUN_H_
