// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PUBLISH_AGAINST_TIMM_SIDE_H_
#define VITRINE_PUBLISH_AGAINST_TIMM_SIDE_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file/descriptor.h"
#include "models/float_array.h"

namespace vitrine {

// timm in a Python that the user has, asked one picture at a time. Blocks; not thread-safe. Its warnings go to stderr.
class TimmSide {
 public:
  // Starts `python`, a path or a name in the PATH, and loads `weights`, a safetensors file under timm's names, into
  // timm's model `arch` with so many classes. FAILED_PRECONDITION if the interpreter cannot be run, lacks timm, or
  // timm takes neither the model nor the weights; the sentence says which.
  static absl::StatusOr<std::unique_ptr<TimmSide>> Start(const std::string& python, const std::string& arch,
                                                         int classes, std::string_view weights);
  // Ends the interpreter.
  ~TimmSide();
  TimmSide(const TimmSide&) = delete;
  TimmSide& operator=(const TimmSide&) = delete;

  // Versions of timm, torch and Pillow, and timm's configuration of the model's pictures, for people.
  const std::string& description() const { return description_; }

  struct Answer {
    FloatArray input;  // [C, H, W]
    std::vector<float> logits;
  };
  // What timm's own transform and model make of an encoded picture, turned upright. INVALID_ARGUMENT if Pillow does not
  // read it; FAILED_PRECONDITION if the interpreter ended.
  absl::StatusOr<Answer> Ask(std::string_view picture);

 private:
  TimmSide(std::string python, FileDescriptor socket, pid_t child)
      : python_(std::move(python)), socket_(std::move(socket)), child_(child) {}

  // A line of JSON and the bytes that follow it.
  struct Message {
    std::string line;
    std::string bytes;
  };
  absl::StatusOr<Message> Exchange(const std::string& request, std::string_view bytes);
  absl::StatusOr<Message> Receive();
  // The status of an answer that is a fault.
  absl::Status FaultOf(const std::string& line) const;

  const std::string python_;
  const FileDescriptor socket_;
  const pid_t child_;
  std::string description_;
};

}  // namespace vitrine

#endif  // VITRINE_PUBLISH_AGAINST_TIMM_SIDE_H_
