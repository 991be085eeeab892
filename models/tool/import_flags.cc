// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/repository/import/import.h"
#include "models/repository/manifest.h"
#include "models/tool/flags.h"
#include "models/tool/publish/import/pull.h"

namespace vitrine {
namespace {

void AddPullOptions(CLI::App& command, CLI::Option& weights, ImportOptions& options) {
  CLI::Option* pull =
      command
          .add_option("--pull", options.pull,
                      "fetch the weights, their config and licence from Hugging Face, in\nplace of WEIGHTS")
          ->type_name("hf:ORG/NAME@REVISION")
          ->check(FaultOfPull)
          ->excludes(&weights);
  command
      .add_option("--pull-from", options.pull_from,
                  absl::StrCat("another address that answers like ", kPullFrom, "; else\n$VITRINE_PULL_FROM"))
      ->type_name("URL")
      ->check(FaultOfUrl)
      ->needs(pull);
  command.add_option("--sha256", options.sha256, "of the file fetched, where the server's word is not enough")
      ->type_name("DIGEST")
      ->check(FaultOfDigest)
      ->needs(pull);
  command.callback([&options] {
    if (!options.pull.empty()) return;
    if (options.weights.empty()) throw CLI::RequiredError("WEIGHTS or --pull");
    if (options.labels.empty()) throw CLI::RequiredError("--labels");
  });
}

}  // namespace

void AddLicence(CLI::App& command, std::string& licence, const std::string& otherwise) {
  command
      .add_option("--licence", licence,
                  absl::StrCat("licence of the weights, an SPDX identifier or text;\n", otherwise))
      ->type_name("ID")
      ->check(FaultOfLicence);
}

CLI::App* AddImportCommand(CLI::App& app, ImportOptions& options) {
  CLI::App* import = app.add_subcommand("import", "publishes weights that timm or transformers trained");
  import->footer(absl::StrCat(
      "Architectures of --from timm: ", absl::StrJoin(ForeignArchs(ForeignSource::kTimm), ", "),
      "\nArchitectures of --from huggingface: ", absl::StrJoin(ForeignArchs(ForeignSource::kHuggingFace), ", ")));
  import->add_option("DIR", options.repository, "the repository to publish in; created if it is not there")->required();
  import->add_option("NAME", options.model, "the name to publish under")->required();
  CLI::Option* weights =
      import->add_option("WEIGHTS", options.weights,
                         "a safetensors file, a shard of several, their index or their\nfolder; pickles are refused");
  import->add_option("--from", options.source, "whose names the tensors have: timm or huggingface")
      ->required()
      ->check(CLI::IsMember({"timm", "huggingface"}));
  import->add_option("--arch", options.arch, "the model, as its source calls it")->required();
  import->add_option("--labels", options.labels,
                     "a text file; line i is the label of class i; or a config.json. With\n--pull the default is what "
                     "the model's config.json says, else\nImageNet-1k's");
  import
      ->add_option("--prefix", options.prefix,
                   "what stands before the names of the model that is meant, where the\nfile holds several: ema_model.")
      ->type_name("NAME");
  AddPullOptions(*import, *weights, options);
  import->add_option("--mean", options.mean, "per channel, in units of [0, 1], instead of the architecture's")
      ->delimiter(',')
      ->expected(3);
  import->add_option("--std", options.std, "see --mean")->delimiter(',')->expected(3);
  CLI::Option* crop =
      import->add_option("--crop", options.crop, "fraction of the scaled image that is kept, as timm's crop_pct");
  import->add_option("--interpolation", options.interpolation, "bilinear or bicubic")
      ->check(CLI::IsMember({"bilinear", "bicubic"}));
  import
      ->add_option("--rounding", options.rounding,
                   "pillow (default): the resized image is rounded to bytes, as timm and\ntransformers do it; none: "
                   "it is not")
      ->check(CLI::IsMember({"pillow", "none"}));
  CLI::Option* fit = import->add_option("--fit", options.fit, "stretch or crop: what happens to another aspect")
                         ->check(CLI::IsMember({"stretch", "crop"}));
  import
      ->add_option("--native", options.native,
                   "take images at their own aspect and size, cut into so many patches: 36-1024")
      ->type_name("MIN-MAX")
      ->check(FaultOfTokens)
      ->excludes(crop)
      ->excludes(fit);
  AddLicence(*import, options.licence, "default: that in the README.md, config.json or metadata of the weights");
  import->add_flag("--bf16", options.bf16, "store the weights in bf16, half the size");
  return import;
}

}  // namespace vitrine
