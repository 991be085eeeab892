// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_EVALUATION_RUN_H_
#define VITRINE_CLIENT_EVAL_RUN_EVALUATION_RUN_H_

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/eval/journal.h"
#include "client/eval/run/patience.h"
#include "client/eval/run/read_ahead.h"
#include "client/eval/run/run.h"
#include "client/eval/run/run_progress.h"
#include "client/lib/in_flight_limit.h"
#include "common/data/dataset.h"

namespace vitrine {

// One call of RunEvaluation (client/eval/run/run.h).
//
// Images are sent in rounds. A round sends each pending image once, until the server is lost. The images that are in
// flight at that time become suspects, because one of them may have crashed the server. The next rounds send suspects
// one at a time, each after the server has answered another image. A suspect is recorded as refused after the server
// was lost three times with only this image in flight.
class EvaluationRun {
 public:
  EvaluationRun(const EvalCommand& command, ProgressDisplay& display, const std::atomic<bool>* stop)
      : command_(command),
        display_(display),
        stop_(stop),
        limit_(command.client.max_in_flight),
        patience_(command.patience) {}

  absl::StatusOr<EvalResult> Do();

 private:
  // run.cc: preparation, the rounds, the end.
  absl::Status OpenJournal();
  absl::Status CheckSameImages() const;
  absl::Status CountUnlabelled();
  void AskRound();
  void SortOutLost(bool cautious, std::vector<int64_t> rest);
  std::optional<absl::StatusOr<v1::ClassifyRequest>> NextRequest(ReadAhead& reader, const std::vector<int64_t>& order);
  v1::ClassifyRequest RequestWith(std::string image) const;
  Prediction Begin(int64_t index) const;
  void Record(const Prediction& prediction);
  bool Stopping() const { return !stopped_.ok() || (stop_ != nullptr && *stop_); }
  bool SendsNoMore();
  absl::Status WhyStopped() const;

  // run_answers.cc: outcome of each image.
  void Deliver(TracedResult traced);
  void TakeAnswer(Prediction prediction, const v1::ClassifyResponse& answer);
  void TakeError(Prediction prediction, const absl::Status& status);
  void Refuse(Prediction prediction, const absl::Status& status, std::string reason);
  void AskLater(int64_t index, const absl::Status& status);
  void Strike(int64_t index);
  void TakeReadError(int64_t index, const absl::Status& status);
  bool DataIsThere() const;

  // run_server.cc: reconnection between rounds.
  void AwaitServer();
  absl::Status Reconnect(absl::Duration most);
  absl::Status Prove();
  bool Nap(absl::Duration duration, const std::string& why);

  const EvalCommand& command_;
  ProgressDisplay& display_;
  const std::atomic<bool>* const stop_;

  std::unique_ptr<Dataset> data_;
  std::unique_ptr<Client> client_;
  bool repeats_ = true;  // true: client_ retries requests
  Evaluation evaluation_;
  std::optional<Journal> journal_;
  std::unique_ptr<RunProgress> progress_;
  InFlightLimit limit_;

  struct Trouble {
    absl::Status last = {};
    int attempts = 0;
    int reads = 0;                               // failed reads
    int doubts = 0;                              // answers with an error of Fate::kDoubtful
    int strikes = 0;                             // losses of the server with only this image in flight
    int refusals = 0;                            // rejections for overload or timeout
    absl::Time second = absl::InfiniteFuture();  // time of the second of these rejections
  };
  std::map<int64_t, Trouble> trouble_;  // images that are retried or were given up
  std::vector<int64_t> pending_;        // to be sent
  std::vector<int64_t> suspects_;       // to be sent before pending_, one at a time

  struct Round {
    size_t position = 0;               // next index into the order of the round
    std::deque<int64_t> asked = {};    // requested images in order, until delivered
    std::vector<int64_t> again = {};   // to be sent again after an error
    std::vector<int64_t> unsent = {};  // delivered, but never sent
    std::vector<int64_t> lost = {};    // in flight when the server was lost
  };
  Round round_;

  // State of the server.
  absl::Status away_;    // why no request can be sent now
  bool proven_ = false;  // true if the server has answered since its last loss
  Patience patience_;

  // State of the data. The indices are of images that can be sent or read again; -1: none yet.
  int64_t answered_ = -1;  // an image with an answer
  int64_t readable_ = -1;  // an image that this session has read
  int unread_ = 0;         // consecutive images that could not be read

  bool said_stopping_ = false;
  absl::Status stopped_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_EVALUATION_RUN_H_
