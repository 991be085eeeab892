// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_FLAGS_H_
#define VITRINE_MODELS_TOOL_FLAGS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "models/tool/publish/calibrate.h"
#include "models/tool/publish/export/export.h"
#include "models/tool/publish/head/head.h"
#include "models/tool/publish/import/cache.h"
#include "models/tool/publish/import/import.h"
#include "models/tool/publish/import/pull.h"
#include "models/tool/publish/import/survey.h"
#include "models/tool/publish/quantize.h"
#include "models/tool/publish/remote/mirror.h"
#include "models/tool/publish/remote/push.h"
#include "models/tool/publish/remove.h"

namespace vitrine {

// Adds --licence. `otherwise` is the part of the help text that describes the default.
void AddLicence(CLI::App& command, std::string& licence, const std::string& otherwise);

// Each function adds one command of vitrine-repo to `app`. The functions are in files of their own, such as
// cache_flags.cc. `options` must outlive the parsing.
CLI::App* AddCacheCommand(CLI::App& app, CacheOptions& options);
CLI::App* AddCalibrateCommand(CLI::App& app, CalibrateOptions& options);
CLI::App* AddExportCommand(CLI::App& app, ExportOptions& options);
CLI::App* AddHeadCommand(CLI::App& app, HeadOptions& options);
CLI::App* AddImportCommand(CLI::App& app, ImportOptions& options);
CLI::App* AddPruneCommand(CLI::App& app, RemoveOptions& options);
CLI::App* AddPullCommand(CLI::App& app, PullOptions& options);
CLI::App* AddPushCommand(CLI::App& app, PushOptions& options);
CLI::App* AddQuantizeCommand(CLI::App& app, QuantizeOptions& options);
CLI::App* AddRemoveCommand(CLI::App& app, RemoveOptions& options);
CLI::App* AddSurveyCommand(CLI::App& app, SurveyOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_FLAGS_H_
