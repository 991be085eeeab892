// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine admin`.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "client/commands/models/models_admin.h"
#include "common/command_line/command_line.h"

namespace vitrine {
namespace {

// Deadline of a call if --deadline is not given. Loading a version may take minutes, because the server reads and
// verifies it and computes its golden outputs.
constexpr absl::Duration kPatience = absl::Minutes(10);

constexpr char kNoVersion[] = "must be a model without a version";

constexpr char kLoadExamples[] =
    R"(Loads a version and keeps it loaded regardless of the policy, even if it was rolled
back or unloaded. Without a version: loads an unloaded model again.
Examples:
  vitrine admin load eit-mini-cifar10@3 --admin 127.0.0.1:8502
  vitrine admin load eit-mini-cifar10)";
constexpr char kUnloadExamples[] =
    R"(An unloaded version stays unloaded until `load`. The last ready version is unloaded
only with the whole model.
Examples:
  vitrine admin unload eit-mini-cifar10@3
  vitrine admin unload eit-mini-cifar10 --all)";
constexpr char kRollbackExamples[] =
    R"(Without a version: rolls back the canary, and stable gets its requests. Without a
canary: loads the previous version, then rolls back the serving one. A rolled-back
version stays rolled back until `load`.
Examples:
  vitrine admin rollback eit-mini-cifar10 --reason "mistakes cats for frogs"
  vitrine admin rollback eit-mini-cifar10@4)";
constexpr char kPolicyExamples[] = R"(Examples:
  vitrine admin policy eit-mini-cifar10 latest 2
  vitrine admin policy eit-mini-cifar10 specific 3 5
  vitrine admin policy eit-mini-cifar10 all)";
constexpr char kTrafficExamples[] =
    R"(All other requests go to the version with the label stable. Requests with equal ids
go to the same version.
Examples:
  5 % of the requests to version 4:
    vitrine admin traffic eit-mini-cifar10 4=5
  All requests to stable:
    vitrine admin traffic eit-mini-cifar10 --clear
  All requests to version 4, after a canary succeeded:
    vitrine admin label eit-mini-cifar10@4 stable)";
constexpr char kLabelExamples[] = R"(Requests may name a label instead of a version: --model NAME@LABEL.
Examples:
  vitrine admin label eit-mini-cifar10@3 stable
  vitrine admin label eit-mini-cifar10 stable --clear)";
constexpr char kResetExamples[] = R"(The file of --serving-config then applies again, also to rolled-back versions.
Example:
  vitrine admin reset eit-mini-cifar10)";
constexpr char kAdminExamples[] = R"(Examples, with the address in $VITRINE_ADMIN:
  vitrine admin serving
  vitrine admin traffic eit-mini-cifar10 4=5
  vitrine admin rollback eit-mini-cifar10
vitrine admin COMMAND --help describes one command.)";
constexpr char kServingExamples[] = R"(Examples:
  vitrine admin serving
  vitrine admin serving eit-mini-cifar10 --format json | jq .models[0].put_away)";

struct Words {
  ClientOptions client;
  Format format = Format::kTable;
  std::string admin;  // address of the Admin service
  ModelChoice choice;
  bool whole = false;  // true: `unload` has the flag --all
  bool clear = false;
  std::string reason;
  std::string label;
  std::vector<std::string> policy;
  std::vector<std::string> shares;
  CLI::App* load = nullptr;
  CLI::App* unload = nullptr;
  CLI::App* rollback = nullptr;
  CLI::App* policy_word = nullptr;
  CLI::App* traffic = nullptr;
  CLI::App* label_word = nullptr;
  CLI::App* reset = nullptr;
  CLI::App* serving = nullptr;
};

// Throws CLI::ValidationError if the command line has a label, if it lacks a wanted version, or if it has a version
// that is not wanted.
void RequireVersion(const Words& words, bool wanted, const std::string& instead) {
  if (!words.choice.label.empty())
    throw CLI::ValidationError("NAME@VERSION", "must name the version by number, not by label");
  if (words.choice.version.has_value() != wanted) throw CLI::ValidationError("NAME", instead);
}

void AddName(CLI::App& word, Words& words, const std::string& form, bool required) {
  AddParsed(word, form, ParseModelChoice, words.choice, "the model", "")->required(required);
}

template <typename Request>
Request For(const Words& words) {
  Request request;
  request.set_model(words.choice.name);
  return request;
}

template <typename Request>
Request WithVersion(const Words& words) {
  Request request = For<Request>(words);
  if (words.choice.version.has_value()) request.set_version(*words.choice.version);
  return request;
}

AdminChange LabelChange(const Words& words) {
  if (words.clear) {
    v1::ClearLabelRequest request = For<v1::ClearLabelRequest>(words);
    request.set_label(words.label);
    return request;
  }
  v1::SetLabelRequest request = WithVersion<v1::SetLabelRequest>(words);
  request.set_label(words.label);
  return request;
}

// Returns the change that the given subcommand requests; nullopt for `serving`, which changes nothing.
std::optional<AdminChange> ChangeOf(const Words& words) {
  if (words.load->parsed()) return WithVersion<v1::LoadModelRequest>(words);
  if (words.unload->parsed()) return WithVersion<v1::UnloadModelRequest>(words);
  if (words.rollback->parsed()) {
    v1::RollbackModelRequest request = WithVersion<v1::RollbackModelRequest>(words);
    request.set_reason(words.reason);
    return request;
  }
  if (words.policy_word->parsed()) {
    v1::SetVersionPolicyRequest request = For<v1::SetVersionPolicyRequest>(words);
    *request.mutable_policy() = *ParseVersionPolicy(words.policy);
    return request;
  }
  if (words.traffic->parsed()) {
    v1::SetTrafficRequest request = For<v1::SetTrafficRequest>(words);
    for (const std::string& share : words.shares) *request.add_shares() = *ParseTrafficShare(share);
    return request;
  }
  if (words.label_word->parsed()) return LabelChange(words);
  if (words.reset->parsed()) return For<v1::ResetServingRequest>(words);
  return std::nullopt;
}

int Run(const Words& words, bool own_deadline) {
  if (words.admin.empty()) {
    std::cerr << "vitrine: the address of the Admin service is missing; give it with --admin or $VITRINE_ADMIN "
                 "(vitrine-server "
                 "listens there with --admin)\n";
    return kExitUsage;
  }
  ClientOptions client = words.client;
  client.address = words.admin;
  if (!own_deadline) client.deadline = kPatience;
  const std::optional<AdminChange> change = ChangeOf(words);
  const absl::Status status = change.has_value() ? RunAdminChange(client, *change, words.format, std::cout, std::cerr)
                                                 : RunServing(client, words.choice.name, words.format, std::cout);
  return status.ok() ? kExitSuccess : FailWithHint(status, client, "vitrine-server with --admin", "--admin");
}

// Adds a subcommand. Flags that it does not define are parsed as flags of `vitrine admin`.
CLI::App* AddWord(CLI::App& admin, const std::string& name, const std::string& does, const std::string& examples) {
  CLI::App* word = admin.add_subcommand(name, does);
  word->fallthrough();
  word->footer(examples);
  return word;
}

void AddLoading(CLI::App& admin, const std::shared_ptr<Words>& words) {
  const auto no_label = [words] {
    if (!words->choice.label.empty()) RequireVersion(*words, true, "");
  };
  words->load = AddWord(admin, "load", "Load a version.", kLoadExamples);
  AddName(*words->load, *words, "NAME[@VERSION]", true);
  words->load->final_callback(no_label);
  words->unload = AddWord(admin, "unload", "Unload a version or a whole model.", kUnloadExamples);
  AddName(*words->unload, *words, "NAME[@VERSION]", true);
  words->unload->add_flag("--all", words->whole, "unload every version; the model is then unavailable");
  words->unload->final_callback(
      [words] { RequireVersion(*words, !words->whole, "needs NAME@VERSION, or --all for the whole model"); });
  words->rollback =
      AddWord(admin, "rollback", "Roll back a version: the canary, or the serving one.", kRollbackExamples);
  AddName(*words->rollback, *words, "NAME[@VERSION]", true);
  words->rollback->add_option("--reason", words->reason, "reason, shown in the log and by `serving`")
      ->type_name("TEXT");
  words->rollback->final_callback(no_label);
  words->policy_word = AddWord(admin, "policy", "Set which versions are loaded.", kPolicyExamples);
  AddName(*words->policy_word, *words, "NAME", true);
  words->policy_word->add_option("POLICY", words->policy, "latest [N], all, or specific VERSION...")
      ->required()
      ->type_name("");
  words->policy_word->final_callback([words] {
    RequireVersion(*words, false, kNoVersion);
    const auto parsed = ParseVersionPolicy(words->policy);
    if (!parsed.ok()) throw CLI::ValidationError("POLICY", std::string(parsed.status().message()));
  });
}

void AddDividing(CLI::App& admin, const std::shared_ptr<Words>& words) {
  words->traffic = AddWord(admin, "traffic", "Split the requests among versions.", kTrafficExamples);
  AddName(*words->traffic, *words, "NAME", true);
  words->traffic->add_option("VERSION=PERCENT", words->shares, "shares; stable gets all other requests")
      ->check(Checked(ParseTrafficShare))
      ->type_name("");
  words->traffic->add_flag("--clear", words->clear, "remove all shares: all requests go to stable");
  words->traffic->final_callback([words] {
    RequireVersion(*words, false, kNoVersion);
    if (words->shares.empty() != words->clear) {
      throw CLI::ValidationError("VERSION=PERCENT", "give shares, or --clear to remove them");
    }
  });
  words->label_word = AddWord(admin, "label", "Add a label to a version, or remove a label.", kLabelExamples);
  AddName(*words->label_word, *words, "NAME[@VERSION]", true);
  words->label_word->add_option("LABEL", words->label, "stable, canary or another word of a-z 0-9 _ -")
      ->required()
      ->type_name("");
  words->label_word->add_flag("--clear", words->clear, "remove the label");
  words->label_word->final_callback(
      [words] { RequireVersion(*words, !words->clear, words->clear ? kNoVersion : "needs NAME@VERSION"); });
  words->reset = AddWord(admin, "reset", "Discard all changes to a model.", kResetExamples);
  AddName(*words->reset, *words, "NAME", true);
  words->reset->final_callback([words] { RequireVersion(*words, false, kNoVersion); });
  words->serving = AddWord(admin, "serving", "Show how models are served, and why.", kServingExamples);
  AddName(*words->serving, *words, "NAME", false);
  words->serving->final_callback([words] { RequireVersion(*words, false, kNoVersion); });
}

}  // namespace

ClientCommand AddAdmin(CLI::App& app) {
  auto words = std::make_shared<Words>();
  CLI::App* admin = app.add_subcommand("admin", "Change or show which models and versions a server serves.");
  admin->require_subcommand(1);
  admin->footer(kAdminExamples);
  AddAdminOption(*admin, words->admin);
  AddServerOptions(*admin, words->client);
  // --admin replaces --server. There is no --max-attempts, because a change must not be sent twice.
  admin->remove_option(admin->get_option("--server"));
  admin->remove_option(admin->get_option("--max-attempts"));
  AddFormatOption(*admin, words->format);
  AddLoading(*admin, words);
  AddDividing(*admin, words);
  return {admin, [admin, words] { return Run(*words, admin->count("--deadline") > 0); }};
}

}  // namespace vitrine
