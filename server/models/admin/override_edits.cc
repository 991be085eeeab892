// SPDX-License-Identifier: Apache-2.0
#include "server/models/admin/override_edits.h"

namespace vitrine {

void TakeBackIn(v1::ModelOverride& row, int64_t version) {
  RemoveIf(*row.mutable_put_away(), [&](const v1::PutAway& away) { return away.version() == version; });
}

void SetLabelIn(v1::ModelOverride& row, const std::string& label, int64_t version) {
  RemoveIf(*row.mutable_labels(), [&](const v1::VersionLabel& held) { return held.label() == label; });
  v1::VersionLabel& added = *row.add_labels();
  added.set_label(label);
  added.set_version(version);
}

void PutAwayIn(v1::ModelOverride& row, int64_t version, const std::string& reason) {
  TakeBackIn(row, version);
  v1::PutAway& away = *row.add_put_away();
  away.set_version(version);
  away.set_reason(reason);
  RemoveIf(*row.mutable_loaded(), [&](int64_t held) { return held == version; });
  RemoveIf(*row.mutable_labels(), [&](const v1::VersionLabel& held) { return held.version() == version; });
  if (row.has_traffic()) {
    RemoveIf(*row.mutable_traffic()->mutable_shares(),
             [&](const v1::TrafficShare& share) { return share.version() == version; });
  }
}

void AddLoaded(v1::ModelOverride& row, int64_t version) {
  RemoveIf(*row.mutable_loaded(), [&](int64_t held) { return held == version; });
  row.add_loaded(version);
}

bool IsLoadedByHand(const v1::ModelOverride& row, int64_t version) {
  return std::find(row.loaded().begin(), row.loaded().end(), version) != row.loaded().end();
}

}  // namespace vitrine
