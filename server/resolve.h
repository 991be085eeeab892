// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_RESOLVE_H_
#define VITRINE_SERVER_RESOLVE_H_

#include "absl/status/status.h"
#include "common/machine/machine.h"
#include "server/observe/log.h"
#include "server/options.h"
#include "server/registry/device.h"

namespace vitrine {

// Returns the options with the machine-dependent settings filled in: threads, cores, pinning, and memory budgets within
// their shares of the control group's limit. Settings given by flags stay unchanged.
ServerOptions Resolve(ServerOptions options, const Device& device, const Machine& machine);

// Returns the fields of a log line that describe the machine and the settings in `resolved`, which must come from
// Resolve.
LogFields DescribeMachine(const Machine& machine, const ServerOptions& resolved);

// Checks the following settings, without opening a port or reading a model: flags, the repository, the folder of its
// copy, TLS files, tokens, policy, serving configuration, headers of the collector, the port file. Returns
// INVALID_ARGUMENT with one line per fault.
absl::Status CheckConfiguration(const ServerOptions& options);

// Checks that the audit log and the admin state can be written, without creating these files. Returns INVALID_ARGUMENT
// with one line per fault. For --check only: a start does not fail because of these faults, since a disk may be mounted
// later.
absl::Status CheckFiles(const ServerOptions& options);

// Checks that the repository contains versions, or that allow_empty is set. UNAVAILABLE: the repository cannot be read
// completely. FAILED_PRECONDITION: it has no versions (see ExplainNoVersions). Logs a warning for each model and
// version that the settings name and the repository does not have. Requires valid settings.
absl::Status CheckRepository(const ServerOptions& options);

// Returns options with which a start creates no files, because these files would belong to the user who runs --check
// and not to the server's user. Omits the audit log. Also omits the admin state if its lock file does not exist yet,
// since then no server holds the lock. Requires options that CheckConfiguration accepts.
ServerOptions WithoutNewFiles(ServerOptions options);

}  // namespace vitrine

#endif  // VITRINE_SERVER_RESOLVE_H_
