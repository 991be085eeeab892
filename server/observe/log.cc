// SPDX-License-Identifier: Apache-2.0
#include "server/observe/log.h"

#include <spdlog/formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/utf8.h"
#include "server/observe/stderr_sink.h"

namespace vitrine {
namespace {

// Fields of the event that this thread is logging; spdlog calls the formatter, which reads them, on the same thread.
thread_local const LogFields* current_fields = nullptr;

// spdlog's levels, by LogLevel.
constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                                 spdlog::level::err};

std::string RfcMilliseconds(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

const char* LevelName(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
      return "trace";
    case spdlog::level::debug:
      return "debug";
    case spdlog::level::info:
      return "info";
    case spdlog::level::warn:
      return "warning";
    case spdlog::level::critical:
      return "critical";
    default:
      return "error";
  }
}

// Returns the length of the UTF-8 character at the beginning of the text if it may be shown unchanged. Returns 0 for
// invalid UTF-8 (RFC 3629), a C1 control character, or a line or paragraph separator (U+2028, U+2029).
size_t ShownCharacter(std::string_view text) {
  if (!text.empty() && static_cast<unsigned char>(text[0]) < 0x80) return 1;  // fast, because most text is ASCII
  size_t length = 1;
  while (length < std::min<size_t>(text.size(), 4) && !IsUtf8(text.substr(0, length))) ++length;
  const std::string_view character = text.substr(0, length);
  const bool control = "\xc2\x80" <= character && character < "\xc2\xa0";
  const bool separator = character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9";
  return !IsUtf8(character) || control || separator ? 0 : length;
}

// Appends text. Writes control characters, line separators and bytes of invalid UTF-8 as \n, \r, \t or \xNN. Otherwise
// a text could end the line or control a terminal.
void AppendEscaped(std::string_view text, bool quoted, std::string& line) {
  size_t length = 0;
  for (size_t i = 0; i < text.size(); i += std::max<size_t>(length, 1)) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    length = ShownCharacter(text.substr(i));
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (c == '\r') {
      line += "\\r";
    } else if (byte < 0x20 || byte == 0x7f || length == 0) {
      absl::StrAppendFormat(&line, "\\x%02x", byte);
    } else {
      if (quoted && (c == '"' || c == '\\')) line += '\\';
      line += text.substr(i, length);
    }
  }
}

// Appends a value. A string that is not a single word is put in quotes.
void AppendValue(const LogValue& value, std::string& line) {
  const auto* json = std::get_if<LogJson>(&value);
  if (const auto* text = json == nullptr ? std::get_if<std::string>(&value) : &json->text) {
    const bool is_word = !text->empty() && std::all_of(text->begin(), text->end(), [](char c) {
      return c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
    });
    if (!is_word) line += '"';
    AppendEscaped(*text, !is_word, line);
    if (!is_word) line += '"';
  } else if (const auto* whole = std::get_if<int64_t>(&value)) {
    absl::StrAppend(&line, *whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    absl::StrAppend(&line, *real);
  } else {
    line += std::get<bool>(value) ? "true" : "false";
  }
}

std::string TextOf(std::string_view message, const LogFields* fields) {
  std::string text;
  AppendEscaped(message, false, text);
  if (fields == nullptr) return text;
  for (const auto& [key, value] : *fields) {
    absl::StrAppend(&text, " ", key, "=");
    AppendValue(value, text);
  }
  return text;
}

// Converts a value for JSON. Rounds doubles to three decimals.
template <typename T>
const T& Shown(const T& value) {
  return value;
}
double Shown(double value) {
  return std::round(value * 1000) / 1000;
}
nlohmann::ordered_json Shown(const LogJson& value) {
  return nlohmann::ordered_json::parse(value.text, nullptr, /*allow_exceptions=*/false);
}

// Uses ensure_ascii, which also escapes characters that terminals or old log collectors treat as control characters.
std::string Dumped(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

class LineFormatter : public spdlog::formatter {
 public:
  using Format = std::string (*)(absl::Time, spdlog::level::level_enum, std::string_view, const LogFields*);
  explicit LineFormatter(Format format) : format_(format) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string line = format_(absl::FromChrono(message.time), message.level,
                                     {message.payload.data(), message.payload.size()}, current_fields);
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<LineFormatter>(format_); }

 private:
  const Format format_;
};

class HistorySink : public spdlog::sinks::sink {
 public:
  HistorySink() { set_level(spdlog::level::warn); }
  void log(const spdlog::details::log_msg& message) override {
    History().Add({absl::FromChrono(message.time), message.level,
                   TextOf({message.payload.data(), message.payload.size()}, current_fields)});
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}
};

}  // namespace

void Log(LogLevel level, std::string_view message, const LogFields& fields) {
  current_fields = &fields;
  spdlog::log(kLevels[static_cast<int>(level)], spdlog::string_view_t(message.data(), message.size()));
  current_fields = nullptr;
}

void LogAlways(LogLevel level, std::string_view message, const LogFields& fields) {
  // The clone shares the sinks; only its level differs.
  const std::shared_ptr<spdlog::logger> unfiltered = spdlog::default_logger()->clone("unfiltered");
  unfiltered->set_level(spdlog::level::trace);
  current_fields = &fields;
  unfiltered->log(kLevels[static_cast<int>(level)], spdlog::string_view_t(message.data(), message.size()));
  current_fields = nullptr;
}

void LogHistory::Add(LogLine line) {
  if (line.level < spdlog::level::warn) return;
  if (line.text.size() > kMaxText) line.text.resize(kMaxText);
  MutexLock lock(mutex_);
  ++(line.level == spdlog::level::warn ? warnings_ : errors_);
  lines_.push_front(std::move(line));
  if (lines_.size() > kMaxLines) lines_.pop_back();
}

std::vector<LogLine> LogHistory::Lines() const {
  MutexLock lock(mutex_);
  return {lines_.begin(), lines_.end()};
}

std::pair<uint64_t, uint64_t> LogHistory::Counts() const {
  MutexLock lock(mutex_);
  return {warnings_, errors_};
}

LogHistory& History() {
  static auto& history = *new LogHistory;
  return history;
}

bool IsLogFormat(std::string_view format) {
  return format == "text" || format == "json";
}

void StartLogging(const std::string& level, const std::string& format) {
  auto lines = std::make_shared<StderrSink>();
  lines->set_formatter(std::make_unique<LineFormatter>(format == "json" ? JsonLine : TextLine));
  const spdlog::sinks_init_list sinks = {std::move(lines), std::make_shared<HistorySink>()};
  auto logger = std::make_shared<spdlog::logger>("vitrine-server", sinks);
  logger->set_error_handler([](const std::string&) {});
  spdlog::set_default_logger(std::move(logger));
  spdlog::set_level(spdlog::level::from_str(level));
}

void KeepHistory() {
  static std::once_flag once;
  std::call_once(once, [] {
    const std::shared_ptr<spdlog::logger> old = spdlog::default_logger();
    for (const spdlog::sink_ptr& sink : old->sinks()) {
      if (dynamic_cast<HistorySink*>(sink.get()) != nullptr) return;
    }
    std::vector<spdlog::sink_ptr> sinks = old->sinks();
    sinks.push_back(std::make_shared<HistorySink>());
    auto logger = std::make_shared<spdlog::logger>(old->name(), sinks.begin(), sinks.end());
    logger->set_level(old->level());
    spdlog::set_default_logger(std::move(logger));
  });
}

std::string TextLine(absl::Time time, spdlog::level::level_enum level, std::string_view message,
                     const LogFields* fields) {
  return absl::StrCat(RfcMilliseconds(time), " ", LevelName(level), " ", TextOf(message, fields), "\n");
}

std::string JsonLine(absl::Time time, spdlog::level::level_enum level, std::string_view message,
                     const LogFields* fields) {
  std::string line = absl::StrCat(R"({"time":)", Dumped(RfcMilliseconds(time)), R"(,"level":)",
                                  Dumped(LevelName(level)), R"(,"message":)", Dumped(std::string(message)));
  if (fields != nullptr) {
    for (const auto& [key, value] : *fields) {
      std::visit(
          [&, &key = key](const auto& held) { absl::StrAppend(&line, ",", Dumped(key), ":", Dumped(Shown(held))); },
          value);
    }
  }
  return line + "}\n";
}

}  // namespace vitrine
