// SPDX-License-Identifier: Apache-2.0
// Writes, parses and checks the lines of a journal.
#include <google/protobuf/util/json_util.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/eval/journal.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// JSON with members in insertion order. Probabilities are floats, written with up to nine digits; times are doubles.
using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr size_t kChecksumDigits = 8;
constexpr size_t kLongestLine = size_t{256} << 20;  // the first line has all labels

std::string Checksum(std::string_view text) {
  return absl::StrFormat("%08x", crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

std::string Line(const Json& json) {
  const std::string text = json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  return absl::StrCat(Checksum(text), " ", text, "\n");
}

// Returns `value` as a double whose shortest text has at most nine digits. The double converts back to `value`.
double Short(float value) {
  double result = value;
  (void)absl::SimpleAtod(absl::StrFormat("%.9g", value), &result);
  return result;
}

Json StagesJson(const Stages& s) {
  Json seconds = Json::array();
  for (const double value : {s.queue, s.decode, s.compute, s.encode, s.server, s.client}) {
    seconds.push_back(std::isfinite(value) ? value : 0);  // JSON has no NaN and infinity
  }
  return seconds;
}

// Converts null, the JSON form of a non-finite number, to 0.
double Seconds(const Json& json) {
  return json.is_null() ? 0 : json.get<double>();
}

// Returns a Prediction from the journal's JSON object of one image. For invalid members, nlohmann throws an exception,
// which Lines::Take converts to a status.
Prediction ReadImage(const Json& json) {
  Prediction p;
  p.index = json.at("i").get<int64_t>();
  p.name = json.at("name").get<std::string>();
  p.data_label = json.at("from").get<int32_t>();
  p.label = json.at("label").get<int32_t>();
  p.outcome = static_cast<Outcome>(json.at("outcome").get<int>());
  p.code = static_cast<absl::StatusCode>(json.at("code").get<int>());
  p.reason = json.at("reason").get<std::string>();
  for (const Json& guess : json.at("guesses")) p.guesses.push_back({guess.at(0), guess.at(1).get<float>()});
  if (json.contains("whole")) {
    const Json& whole = json.at("whole");
    p.likelihood = Likelihood{.right = whole.at(0).get<float>(), .squares = whole.at(1).get<float>()};
  }
  if (json.contains("logits")) p.logits = json.at("logits").get<std::vector<float>>();
  p.tokens = json.at("tokens").get<int32_t>();
  p.attempts = json.at("attempts").get<int32_t>();
  const Json& s = json.at("seconds");
  p.seconds = {Seconds(s.at(0)), Seconds(s.at(1)), Seconds(s.at(2)),
               Seconds(s.at(3)), Seconds(s.at(4)), Seconds(s.at(5))};
  p.at = json.at("at").get<double>();
  p.served_by = json.at("by").get<std::string>();
  return p;
}

Evaluation EvaluationOf(const Json& json) {
  Evaluation e;
  if (!google::protobuf::util::JsonStringToMessage(json.at("model").dump(), &e.model).ok()) {
    throw std::runtime_error("the model's description cannot be read");
  }
  e.data = json.at("data").get<std::string>();
  e.data_labels = json.at("data_labels").get<std::vector<std::string>>();
  EvaluationSettings& s = e.settings;
  s.split = json.at("split").get<std::string>();
  s.data_digest = json.at("data_digest").get<std::string>();
  s.data_order = json.at("data_order").get<std::string>();
  s.data_images = json.at("data_pictures").get<int64_t>();
  s.limit = json.at("limit").get<int64_t>();
  s.shard = {json.at("shard").at(0).get<int64_t>(), json.at("shard").at(1).get<int64_t>()};
  s.resolution = json.at("resolution").get<std::string>();
  s.top_k = json.at("top_k").get<int>();
  s.label_map = json.at("label_map").get<std::vector<int32_t>>();
  if (s.data_images < 0 || s.limit < 0 || s.shard.number < 1 || s.shard.number > s.shard.of) {
    throw std::runtime_error("its sizes are invalid");
  }
  return e;
}

EvaluationSession ReadSession(const Json& json) {
  EvaluationSession session;
  session.start = json.at("start").get<double>();
  session.end = json.value("end", session.start);
  session.server = json.at("server").get<std::string>();
  session.images = json.value("pictures", int64_t{0});
  return session;
}

}  // namespace

// Parses the lines of a journal.
class JournalReader::Lines {
 public:
  absl::Status Take(std::string_view line) {
    try {
      const Json json = Json::parse(line);
      if (!contents_.begun) {
        if (json.at("format").get<int>() != kFormat) throw std::runtime_error("it has another format");
        contents_.evaluation = EvaluationOf(json);
        contents_.begun = true;
      } else if (json.contains("session")) {
        contents_.evaluation.sessions.push_back(ReadSession(json.at("session")));
        open_ = !json.at("session").contains("end");
      } else {
        TakeImage(ReadImage(json));
      }
    } catch (const nlohmann::json::exception&) {
      return absl::DataLossError("a member is missing or of another type than this version of vitrine writes");
    } catch (const std::exception& error) {
      return absl::DataLossError(error.what());
    }
    return absl::OkStatus();
  }

  JournalContents& contents() { return contents_; }

  void Finish() {
    std::vector<Prediction>& all = contents_.evaluation.predictions;
    for (auto& [index, prediction] : images_) all.push_back(std::move(prediction));
  }

 private:
  void TakeImage(Prediction image) {
    const Evaluation& e = contents_.evaluation;
    const auto in = [](int64_t value, size_t size) { return value >= 0 && value < static_cast<int64_t>(size); };
    const auto classes = static_cast<size_t>(e.model.labels_size());
    if (!in(image.index, static_cast<size_t>(e.settings.data_images)) || !in(image.data_label, e.data_labels.size()) ||
        (image.label != -1 && !in(image.label, classes)) || !in(static_cast<int>(image.outcome), 4)) {
      throw std::runtime_error("a number is out of range");
    }
    for (const Guess& guess : image.guesses) {
      if (!in(guess.index, classes) || !std::isfinite(guess.probability)) {
        throw std::runtime_error("a guess is out of range");
      }
    }
    if (const auto& whole = image.likelihood;
        whole.has_value() && !(std::isfinite(whole->right) && std::isfinite(whole->squares))) {
      throw std::runtime_error("a probability is out of range");
    }
    if (!image.logits.empty() && image.logits.size() != classes) {
      throw std::runtime_error("there are not as many logits as classes");
    }
    if (!contents_.evaluation.sessions.empty() && open_) {
      EvaluationSession& session = contents_.evaluation.sessions.back();
      session.end = std::max(session.end, image.at);
      ++session.images;
    }
    const int64_t index = image.index;
    images_[index] = std::move(image);
  }

  JournalContents contents_;
  std::map<int64_t, Prediction> images_;
  bool open_ = false;  // true: the next images belong to the last session
};

namespace {

bool IsWhole(std::string_view line) {
  return line.size() > kChecksumDigits && line[kChecksumDigits] == ' ' &&
         line.substr(0, kChecksumDigits) == Checksum(line.substr(kChecksumDigits + 1));
}

// Returns true for an incomplete first line, left by a crash while it was written.
bool IsTornBeginning(std::string_view text) {
  constexpr std::string_view kBegins = " {\"format\":";
  for (size_t i = 0; i < std::min(text.size(), kChecksumDigits); ++i) {
    if (std::string_view("0123456789abcdef").find(text[i]) == std::string_view::npos) return false;
  }
  const std::string_view rest = text.substr(std::min(text.size(), kChecksumDigits)).substr(0, kBegins.size());
  return kBegins.substr(0, rest.size()) == rest;
}

}  // namespace

std::string HeaderLine(const Evaluation& evaluation) {
  std::string model;
  (void)google::protobuf::util::MessageToJsonString(evaluation.model, &model);
  const EvaluationSettings& s = evaluation.settings;
  return Line({{"format", kFormat},
               {"model", Json::parse(model)},
               {"data", evaluation.data},
               {"data_labels", evaluation.data_labels},
               {"split", s.split},
               {"data_digest", s.data_digest},
               {"data_order", s.data_order},
               {"data_pictures", s.data_images},
               {"limit", s.limit},
               {"shard", {s.shard.number, s.shard.of}},
               {"resolution", s.resolution},
               {"top_k", s.top_k},
               {"label_map", s.label_map}});
}

std::string SessionLine(const EvaluationSession& session, bool closed) {
  Json json = {{"start", session.start}, {"server", session.server}};
  if (closed) {
    json["end"] = session.end;
    json["pictures"] = session.images;
  }
  return Line({{"session", json}});
}

std::string ImageLine(const Prediction& p) {
  Json guesses = Json::array();
  for (const Guess& guess : p.guesses) guesses.push_back({guess.index, Short(guess.probability)});
  Json json = {{"i", p.index},
               {"name", p.name},
               {"from", p.data_label},
               {"label", p.label},
               {"outcome", static_cast<int>(p.outcome)},
               {"code", static_cast<int>(p.code)},
               {"reason", p.reason},
               {"guesses", guesses},
               {"tokens", p.tokens},
               {"attempts", p.attempts},
               {"seconds", StagesJson(p.seconds)},
               {"at", p.at},
               {"by", p.served_by}};
  for (const float logit : p.logits) json["logits"].push_back(Short(logit));
  if (p.likelihood.has_value()) json["whole"] = {Short(p.likelihood->right), Short(p.likelihood->squares)};
  return Line(json);
}

absl::StatusOr<JournalContents> ParseJournal(std::string_view text) {
  JournalReader reader;
  RETURN_IF_ERROR(reader.Take(text));
  return std::move(reader).Finish();
}

struct JournalReader::State {
  Lines lines;
  std::string begun;        // start of the incomplete last line
  int64_t number = 0;       // number of the last line that has ended
  int64_t damaged = 0;      // number of the first damaged line; 0: none
  size_t bytes = 0;         // length up to the end of line `number`
  absl::Status fault = {};  // first error, which ends parsing
};

JournalReader::JournalReader() : state_(std::make_unique<State>()) {}
JournalReader::~JournalReader() = default;

absl::Status JournalReader::Take(std::string_view bytes) {
  State& s = *state_;
  while (s.fault.ok() && !bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      s.begun += bytes;
      if (s.begun.size() > kLongestLine)
        s.fault = absl::DataLossError(absl::StrCat("line ", s.number + 1, " is damaged"));
      break;
    }
    s.begun += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    TakeLine(std::exchange(s.begun, {}));
  }
  return s.fault;
}

void JournalReader::TakeLine(std::string_view line) {
  State& s = *state_;
  ++s.number;
  s.bytes += line.size() + 1;
  if (!IsWhole(line)) {
    if (s.damaged == 0) s.damaged = s.number;
  } else if (s.damaged > 0) {
    s.fault = absl::DataLossError(absl::StrCat("line ", s.damaged, " is damaged"));
  } else if (const absl::Status taken = s.lines.Take(line.substr(kChecksumDigits + 1)); !taken.ok()) {
    s.fault = absl::DataLossError(absl::StrCat("line ", s.number, ": ", taken.message()));
  } else {
    s.lines.contents().valid_bytes = s.bytes;
  }
}

absl::StatusOr<JournalContents> JournalReader::Finish() && {
  State& s = *state_;
  RETURN_IF_ERROR(s.fault);
  if (s.number == 0 && IsTornBeginning(s.begun)) return JournalContents{};
  if (!s.lines.contents().begun) return absl::DataLossError("it is no journal of an evaluation");
  s.lines.Finish();
  return std::move(s.lines.contents());
}

}  // namespace vitrine
