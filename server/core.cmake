# The inner half: from a planned request to its output.
set(server_core_sources
  admission.cc
  batching_policy.cc
  clock.cc
  cost_model.cc
  device.cc
  execute_batch.cc
  executor.cc
  histogram.cc
  inference_request.cc
  metrics.cc
  model_loader.cc
  picture_input.cc
  process_stats.cc
  registry.cc
  scheduler.cc
  ticker.cc)
