// SPDX-License-Identifier: Apache-2.0
#include "models/tool/flags.h"

namespace vitrine {

CLI::App* AddCacheCommand(CLI::App& app, CacheOptions& options) {
  CLI::App* cache = app.add_subcommand("cache", "imports models into a cache, as `vitrine-server --model` does");
  cache->add_option("DIR", options.cache, "folder of the cache; created if missing")
      ->required()
      ->check([](const std::string& folder) { return folder.empty() ? "DIR is empty; name a folder" : ""; });
  cache
      ->add_option("MODEL", options.models,
                   "hf:ORG/NAME[@REVISION] of Hugging Face, or a folder with config.json and\nmodel.safetensors; "
                   "NAME= before it names the model")
      ->required()
      ->check(FaultOfCachedModel);
  cache->footer(
      "Prints the folder of a repository with exactly these models. A model is imported again if its files or its\n"
      "commit changed. If the hub fails, or with HF_HUB_OFFLINE=1, the last import is used. HF_TOKEN is sent to the "
      "hub;\n"
      "HF_ENDPOINT names another one.\n"
      "  vitrine-repo cache ~/.cache/vitrine/models tiny=hf:timm/deit_tiny_patch16_224.fb_in1k /mnt/models/plants");
  return cache;
}

}  // namespace vitrine
