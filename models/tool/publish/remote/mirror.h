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

// Versions of which the source sends other bytes than their manifests say. After two refreshes with the same error, a
// version is not fetched again while the source lists the same versions and the manifest is the same.
struct DamagedVersions {
  struct Damage {
    std::string manifest;
    absl::Status fault;
    bool is_confirmed = false;
  };
  std::map<VersionId, Damage> found = {};
  std::set<VersionId> listed = {};  // versions of the source at the last refresh
  bool only_known = false;          // the last refresh had no other error than those of earlier refreshes in `found`
};

// Fetches every version that `folder` lacks, or of which a file is missing or has another size; newest versions first.
// A version appears as a whole, by a rename. So even after a kill, every version in the folder is complete, and the
// next call continues each download. Versions never change, so a complete version in the folder is not compared with
// the source. With `remove`, versions that the source lacks are removed after all others were fetched, or earlier if
// another version fits into most_bytes only without them; if some were left out, only those of models of which the copy
// has a version of the source. Returns FAILED_PRECONDITION and removes no version if the source has no version, or if
// `folder` was never pulled and has versions that the source lacks. If the source has no version, a warning is printed
// on stderr.
//
// After an error of one version, other versions are still fetched, except after UNAVAILABLE, which ends the refresh. A
// folder that is no copy of this source yet becomes a copy (kRefreshedFile) even if versions were left out, and
// `remove` then removes the versions that the source lacks. The folder becomes no copy after UNAVAILABLE, or if it has
// no version whose manifest the source still returns: if credentials have expired, the versions left out are probably
// intact. Returns the errors of all versions in one status; errors of `damaged` that an earlier refresh returned are
// left out if there are others. ABORTED: another process refreshes the folder. RESOURCE_EXHAUSTED: most_bytes, or the
// disk. Other errors are those of RemoteStore and Fetch (download.h).
absl::Status RefreshMirror(RemoteStore& store, const PullOptions& options, DamagedVersions& damaged);

// Calls RefreshMirror once or, if watch_seconds is positive, forever. In the latter case, errors are printed, those of
// a damaged version once, and RefreshWait gives the time to the next call.
absl::Status PullCommand(const PullOptions& options);

// Returns the wait before the next refresh: the interval, doubled for each failure in a row up to two minutes. Before
// the first copy, the interval does not count, and the waits are 1, 2, 4, ... seconds up to two minutes, because a
// server may wait for the copy. The result is changed by up to a tenth depending on `chance`, a random number from 0 to
// 1, so that many servers do not call at once.
absl::Duration RefreshWait(absl::Duration interval, bool has_copy, int failures, double chance);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_REMOTE_MIRROR_H_
