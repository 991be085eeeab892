// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/execute_batch.h"

#include "server/serve/execution/batch_run.h"

namespace vitrine {

void ExecuteBatch(Batch batch, const BatchContext& context) {
  if (!batch.requests.empty()) BatchRun(batch, context).Run();
}

}  // namespace vitrine
