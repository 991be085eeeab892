// SPDX-License-Identifier: Apache-2.0
// The subcommands of `vitrine models` that use the Admin service: their flags.
#include "client/commands/models/models_admin.h"

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "common/command_line/command_line.h"

namespace vitrine {
namespace {

// Reading, verifying and running the goldens of a version may take minutes.
constexpr absl::Duration kPatience = absl::Minutes(10);

constexpr char kNoVersion[] = "takes a model without a version";

constexpr char kLoadExamples[] = R"(Brings a version into memory and keeps it there whatever the policy says; one that
was rolled back or unloaded comes back. Without a version: a model that was unloaded.
Examples:
  vitrine models load eit-mini-cifar10@3 --admin 127.0.0.1:8502
  vitrine models load eit-mini-cifar10)";
constexpr char kUnloadExamples[] = R"(A version that is unloaded does not come back by itself. The last one that can
serve is not unloaded, but with the whole model.
Examples:
  vitrine models unload eit-mini-cifar10@3
  vitrine models unload eit-mini-cifar10 --all)";
constexpr char kRollbackExamples[] = R"(Without a version the canary is put away, and stable takes its requests. Where
nothing is tried out, it is the version that serves: the one before it is loaded
first, then takes its place. What was put away does not come back by itself.
Examples:
  vitrine models rollback eit-mini-cifar10 --reason "mistakes cats for frogs"
  vitrine models rollback eit-mini-cifar10@4)";
constexpr char kPolicyExamples[] = R"(Examples:
  vitrine models policy eit-mini-cifar10 latest 2
  vitrine models policy eit-mini-cifar10 specific 3 5
  vitrine models policy eit-mini-cifar10 all)";
constexpr char kTrafficExamples[] = R"(What the shares leave over goes to the version with the label stable. Requests
with equal ids meet the same version.
Examples:
  A twentieth of the requests to version 4:
    vitrine models traffic eit-mini-cifar10 4=5
  All of them to stable again:
    vitrine models traffic eit-mini-cifar10 --clear
  Version 4 proved good, everybody gets it:
    vitrine models label eit-mini-cifar10@4 stable)";
constexpr char kLabelExamples[] = R"(Requests may name a label in place of a version: --model NAME@LABEL.
Examples:
  vitrine models label eit-mini-cifar10@3 stable
  vitrine models label eit-mini-cifar10 stable --clear)";
constexpr char kResetExamples[] = R"(The file of --serving-config holds again, and what was put away may come back.
Example:
  vitrine models reset eit-mini-cifar10)";
constexpr char kServingExamples[] = R"(Examples:
  vitrine models serving
  vitrine models serving eit-mini-cifar10 --format json | jq .models[0].put_away)";

struct Words {
  std::string admin;  // the address
  ModelChoice choice;
  bool whole = false;  // unload --all
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

// Checks what CLI11 cannot: some subcommands need a version, others must not have one.
void RequireVersion(const Words& words, bool wanted, const std::string& instead) {
  if (!words.choice.label.empty())
    throw CLI::ValidationError("NAME@VERSION", "takes the number of a version, no label");
  if (words.choice.version.has_value() != wanted) throw CLI::ValidationError("NAME", instead);
}

void AddName(CLI::App& word, Words& words, const std::string& form, bool required) {
  CLI::Option* name = word.add_option_function<std::string>(
      form, [&words](const std::string& text) { words.choice = *ParseModelChoice(text); }, "the model");
  name->check(Checked(ParseModelChoice))->type_name("");
  if (required) name->required();
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

// Returns the change of the given subcommand; nullopt for `serving`.
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

int Run(const Words& words, ClientOptions client, bool own_deadline, Format format) {
  if (words.admin.empty()) {
    std::cerr
        << "vitrine: where is the Admin service? name it with --admin or $VITRINE_ADMIN (vitrine-server listens for "
           "it with --admin)\n";
    return kExitUsage;
  }
  client.address = words.admin;
  if (!own_deadline) client.deadline = kPatience;
  const std::optional<AdminChange> change = ChangeOf(words);
  const absl::Status status = change.has_value() ? RunAdminChange(client, *change, format, std::cout, std::cerr)
                                                 : RunServing(client, words.choice.name, format, std::cout);
  return status.ok() ? kExitSuccess : FailWithHint(status, client, "vitrine-server with --admin", "--admin");
}

CLI::App* AddWord(CLI::App& models, Words& words, const std::string& name, const std::string& does,
                  const std::string& examples) {
  CLI::App* word = models.add_subcommand(name, does);
  word->fallthrough();
  word->footer(examples);
  AddAdminOption(*word, words.admin);
  return word;
}

void AddLoading(CLI::App& models, const std::shared_ptr<Words>& words) {
  const auto no_label = [words] {
    if (!words->choice.label.empty()) RequireVersion(*words, true, "");
  };
  words->load = AddWord(models, *words, "load", "Bring a version into memory.", kLoadExamples);
  AddName(*words->load, *words, "NAME[@VERSION]", true);
  words->load->final_callback(no_label);
  words->unload =
      AddWord(models, *words, "unload", "Take a version, or a whole model, out of memory.", kUnloadExamples);
  AddName(*words->unload, *words, "NAME[@VERSION]", true);
  words->unload->add_flag("--all", words->whole, "every version: the model is gone for callers");
  words->unload->final_callback(
      [words] { RequireVersion(*words, !words->whole, "needs NAME@VERSION, or --all for the whole model"); });
  words->rollback =
      AddWord(models, *words, "rollback", "Put a version away: the canary, or the one that serves.", kRollbackExamples);
  AddName(*words->rollback, *words, "NAME[@VERSION]", true);
  words->rollback->add_option("--reason", words->reason, "why, for the log and for others")->type_name("TEXT");
  words->rollback->final_callback(no_label);
  words->policy_word = AddWord(models, *words, "policy", "Say which versions are in memory.", kPolicyExamples);
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

void AddDividing(CLI::App& models, const std::shared_ptr<Words>& words) {
  words->traffic = AddWord(models, *words, "traffic", "Divide the requests among versions.", kTrafficExamples);
  AddName(*words->traffic, *words, "NAME", true);
  words->traffic->add_option("VERSION=PERCENT", words->shares, "shares; what is left over goes to stable")
      ->check(Checked(ParseTrafficShare))
      ->type_name("");
  words->traffic->add_flag("--clear", words->clear, "no shares: everything to stable");
  words->traffic->final_callback([words] {
    RequireVersion(*words, false, kNoVersion);
    if (words->shares.empty() != words->clear) {
      throw CLI::ValidationError("VERSION=PERCENT", "give shares, or --clear for none");
    }
  });
  words->label_word = AddWord(models, *words, "label", "Give a version a label, or take one away.", kLabelExamples);
  AddName(*words->label_word, *words, "NAME[@VERSION]", true);
  words->label_word->add_option("LABEL", words->label, "stable, canary or another of a-z 0-9 _ -")
      ->required()
      ->type_name("");
  words->label_word->add_flag("--clear", words->clear, "take the label away");
  words->label_word->final_callback(
      [words] { RequireVersion(*words, !words->clear, words->clear ? kNoVersion : "needs NAME@VERSION"); });
  words->reset = AddWord(models, *words, "reset", "Forget every change of a model.", kResetExamples);
  AddName(*words->reset, *words, "NAME", true);
  words->reset->final_callback([words] { RequireVersion(*words, false, kNoVersion); });
  words->serving = AddWord(models, *words, "serving", "How models are served, and why.", kServingExamples);
  AddName(*words->serving, *words, "NAME", false);
}

}  // namespace

AdminWords AddAdminWords(CLI::App& models, const ClientOptions& client, const Format& format) {
  auto words = std::make_shared<Words>();
  AddLoading(models, words);
  AddDividing(models, words);
  return {[words] { return ChangeOf(*words).has_value() || words->serving->parsed(); },
          [words, &models, &client, &format] {
            return Run(*words, client, models.get_option("--deadline")->count() > 0, format);
          }};
}

}  // namespace vitrine
