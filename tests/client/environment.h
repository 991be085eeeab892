// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_ENVIRONMENT_H_
#define VITRINE_TESTS_CLIENT_ENVIRONMENT_H_

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace vitrine {

// Sets environment variables during the object's lifetime. The value nullptr unsets a variable.
class Environment {
 public:
  explicit Environment(const std::map<std::string, const char*>& variables) {
    for (const auto& [name, value] : variables) {
      const char* before = std::getenv(name.c_str());
      before_[name] = before == nullptr ? std::nullopt : std::optional<std::string>(before);
      Set(name, value);
    }
  }
  Environment(const std::string& name, const char* value)
      : Environment(std::map<std::string, const char*>{{name, value}}) {}
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (const auto& [name, value] : before_) Set(name, value.has_value() ? value->c_str() : nullptr);
  }

 private:
  static void Set(const std::string& name, const char* value) {
    value == nullptr ? unsetenv(name.c_str()) : setenv(name.c_str(), value, 1);
  }

  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_ENVIRONMENT_H_
