// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_REMOTE_MIRROR_H_
#define VITRINE_MODELS_TOOL_PUBLISH_REMOTE_MIRROR_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "models/repository/repository.h"
#include "models/tool/publish/remote/store.h"

namespace vitrine {

struct PullOptions {
  std::string source;         // address of a remote repository
  std::string endpoint = {};  // see OpenRemote
  std::string folder;         // the copy; created if missing
  bool remove = false;        // remove versions that the source no longer has
  int64_t most_bytes = 0;     // limit of the copy's size; 0: none
  double watch_seconds = 0;   // interval at which the copy is refreshed; 0: once
};

// Versions whose files at the source differ from their manifests. After two refreshes with the same error, a version is
// not fetched again while its manifest and the source's list of versions stay the same.
struct DamagedVersions {
  struct Damage {
    std::string manifest;
    absl::Status fault;
    bool is_confirmed = false;
  };
  std::map<VersionId, Damage> found = {};
  std::set<VersionId> listed = {};  // versions of the source at the last refresh
  bool only_known = false;          // true: the last refresh had no errors except those already in `found`
};

// Fetches every version that is missing or incomplete in `folder`, the newest versions first. A version is incomplete
// if a file is missing or has another size. Moves a complete version into place by a rename. Even after a kill, every
// new version in the folder is therefore complete, and the next call continues each download. Versions never change, so
// a complete version is not compared with the source. If the source has no version, prints a warning.
//
// With `remove`, removes the versions that the source lacks. It does so after all missing versions were fetched, or
// earlier if a new version needs the space (most_bytes). If a version could not be fetched, removes versions of a model
// only if the copy keeps a version of this model that the source also has. Returns FAILED_PRECONDITION and removes no
// version if the copy has versions but the source has none, or if `folder` was never pulled and has versions that the
// source lacks.
//
// After an error of one version, the remaining versions are still fetched, except after UNAVAILABLE, which ends the
// refresh. A folder that is no copy of this source yet becomes a copy (kRefreshedFile) even if versions are missing,
// and `remove` then removes the versions that the source lacks. The folder does not become a copy after UNAVAILABLE, or
// if the source refuses the manifest of a version that was copied. In the last case, credentials may have expired, and
// the missing versions may be intact. Returns the errors of all versions in one status. If there are other errors,
// leaves out the errors of damaged versions that an earlier refresh already returned (see `damaged`). ABORTED: another
// process refreshes the folder. RESOURCE_EXHAUSTED: the copy would exceed most_bytes, or the disk is full. All other
// errors are errors of RemoteStore and Fetch (download.h).
absl::Status RefreshMirror(RemoteStore& store, const PullOptions& options, DamagedVersions& damaged);

// Calls RefreshMirror once. If watch_seconds is positive, repeats the call forever with pauses of RefreshWait, and
// prints errors instead of returning them. The error of a damaged version is printed once.
absl::Status PullCommand(const PullOptions& options);

// Returns the wait before the next refresh. The wait is the interval, doubled for each failure in a row, up to two
// minutes or the interval, whichever is longer. Before the first copy, the interval is ignored, because a server may
// wait for the copy: the waits are then 1, 2, 4, ... seconds up to two minutes. `chance`, a random number from 0 to 1,
// changes the result by up to a tenth, so that many servers do not call at once.
absl::Duration RefreshWait(absl::Duration interval, bool has_copy, int failures, double chance);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_REMOTE_MIRROR_H_
