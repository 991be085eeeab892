// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_ROUNDS_H_
#define VITRINE_CLIENT_EVAL_RUN_ROUNDS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/eval/prediction.h"
#include "client/eval/run/patience.h"
#include "client/eval/run/read_ahead.h"
#include "client/eval/run/run_progress.h"
#include "client/lib/client.h"
#include "client/lib/in_flight_limit.h"
#include "common/data/dataset.h"

namespace vitrine {

// An image of a run. An image that cannot be read is never sent.
struct SentImage {
  int64_t index = 0;
  int attempts = 0;             // number of times it was sent
  absl::Duration latency = {};  // time from the last send to the answer; zero if never sent
};

// Makes the requests of images and takes the result of each image. Called on the thread of ImageRounds::Ask or
// Scorer::Score.
class RoundsClient {
 public:
  virtual ~RoundsClient() = default;
  // Returns a request with this image to the model version that the run uses.
  virtual v1::ClassifyRequest RequestWith(std::string image) const = 0;
  // Takes an answer of the run's version. Its predictions are valid, and not empty if the model has classes. If
  // TakeAnswer returns an error, the image is treated as if the server had answered with the error.
  virtual absl::Status TakeAnswer(const SentImage& image, const v1::ClassifyResponse& answer) = 0;
  // Takes the result of an image that will not be sent again: kUnreadable or kRefused, with the reason.
  virtual void TakeFailure(const SentImage& image, Outcome outcome, const absl::Status& why) = 0;
};

// Sends images to a server until each has a result. Waits for a lost server and reconnects.
//
// Images are sent in rounds. A round sends each pending image once, until the server is lost. The images that are in
// flight at that time become suspects, because one of them may have crashed the server. The next rounds send one
// suspect at a time, and only after the server has answered another image. A suspect is recorded as refused after the
// server was lost three times with only this image in flight. Not thread-safe.
class ImageRounds {
 public:
  struct Options {
    ClientOptions client = {};
    absl::Duration patience = absl::Minutes(2);  // maximum wait for a lost server, and for one image
    std::string source = {};                     // name of the images' source, for messages
    const std::atomic<bool>* stop = nullptr;     // once true, no more requests are sent; may be null
  };
  // The references must outlive this object. Every answer must come from the version and weights of `model`.
  ImageRounds(Options options, const ImageSet& data, v1::ModelVersion model, std::unique_ptr<Client> client,
              RunProgress& progress, RoundsClient& user);

  // Sets an image that the server has answered before. The image is sent again to test a server that came back.
  void KnowAnswered(int64_t index) { answered_ = index; }
  // Sets an image that can be read. If it can no longer be read, the whole source counts as missing.
  void KnowReadable(int64_t index) { readable_ = index; }
  // Sends the images. On return, each image has a result, or Ended() is an error. May be called again for other images.
  void Ask(std::vector<int64_t> images);
  // Ends the run with this error. If the run already has an error, keeps the earlier error.
  void Stop(const absl::Status& why);

  int in_flight() const { return limit_.limit(); }  // current limit of requests in flight
  // Returns OK if every image has a result, else the reason: a lost server, `stop`, a call of Stop, or images that got
  // no answer within Options::patience.
  absl::Status Ended() const;
  // Calls RoundsClient::TakeFailure for each image without a result: with kRefused if it was sent, with kUnreadable if
  // it could not be read. Unreadable images are left out if the whole source seems to be missing. After a stop, only
  // unreadable images whose file is missing are reported.
  void GiveUpUnanswered();

 private:
  // State of an image that is retried or was given up.
  struct Trouble {
    absl::Status last = {};
    int attempts = 0;
    int reads = 0;                               // failed reads
    int doubts = 0;                              // answers with an error of Fate::kDoubtful
    int strikes = 0;                             // losses of the server with only this image in flight
    int refusals = 0;                            // rejections for overload or timeout
    absl::Time second = absl::InfiniteFuture();  // time when `refusals` became 2
  };

  // Defined in rounds.cc: start and end of the rounds.
  void AskRound();
  void SortOutLost(bool cautious, std::vector<int64_t> rest);
  std::optional<absl::StatusOr<v1::ClassifyRequest>> NextRequest(ReadAhead& reader, const std::vector<int64_t>& order);
  bool Stopping() const { return !stopped_.ok() || (options_.stop != nullptr && *options_.stop); }
  bool SendsNoMore();
  void CountResult(int64_t index);

  // Defined in rounds_answers.cc: outcome of each image.
  void Deliver(TracedResult traced);
  void TakeAnswer(const SentImage& image, const v1::ClassifyResponse& answer);
  void TakeError(const SentImage& image, const absl::Status& status);
  void Fail(const SentImage& image, Outcome outcome, const absl::Status& why);
  void AskLater(int64_t index, const absl::Status& status);
  void Strike(int64_t index);
  void TakeReadError(int64_t index, const absl::Status& status);
  bool DataIsThere() const;

  // Defined in rounds_server.cc: reconnection between rounds.
  void AwaitServer();
  absl::Status NotBack() const;
  absl::Status Reconnect(absl::Duration most);
  absl::Status AskAnswered();
  bool Nap(absl::Duration duration, const std::string& why);

  const Options options_;
  const ImageSet& data_;
  const v1::ModelVersion model_;
  std::unique_ptr<Client> client_;
  bool repeats_ = true;  // true: client_ retries requests
  RunProgress& progress_;
  RoundsClient& user_;
  InFlightLimit limit_;

  int64_t missing_ = 0;                 // number of images without a result
  std::map<int64_t, Trouble> trouble_;  // images that are retried or were given up
  std::vector<int64_t> pending_;        // to be sent
  std::vector<int64_t> suspects_;       // to be sent before pending_, one at a time

  struct Round {
    size_t position = 0;               // position of the next image in the order of the round
    std::deque<int64_t> asked = {};    // requested images in order, until delivered
    std::vector<int64_t> again = {};   // to be sent again after an error
    std::vector<int64_t> unsent = {};  // unanswered, but not because of the image; to be sent again
    std::vector<int64_t> lost = {};    // sent, and unanswered when the server was lost
  };
  Round round_;

  // State of the server.
  absl::Status away_;    // reason why no request can be sent now; OK: requests can be sent
  absl::Status silent_;  // not OK: no image was answered for longer than `patience`; ends the round
  bool proven_ = false;  // true if the server has answered since its last loss
  Patience patience_;

  // State of the data. `answered_` is sent again to test the server, and `readable_` is read again to test the data.
  // Both are indices of images; -1: none yet.
  int64_t answered_ = -1;  // an image with an answer
  int64_t readable_ = -1;  // an image that this session has read
  int unread_ = 0;         // consecutive images that could not be read

  bool said_stopping_ = false;
  absl::Status stopped_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_ROUNDS_H_
