// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA driver, implemented with the emulator. This library is built as libcuda.so.1, so that the
// released programs run without a GPU. It is stricter than a real driver: calls that would be slow or undefined are
// errors.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/models/engine/cuda/fake_driver/fake_gpu.h"

using namespace vitrine::cuda::driver;
using vitrine::testing::current_context;
using vitrine::testing::FakeGpu;
using vitrine::testing::FakeWork;

namespace {

constexpr unsigned kMostThreads = 1024;
constexpr size_t kMostSharedBytes = 99u << 10;
constexpr int kBlocksPerMultiprocessor = 2;

// A call of the driver. Holds the lock of FakeGpu during the call, and the error that the call must return.
class Call {
 public:
  explicit Call(const char* name, bool needs_context = true)
      : gpu(FakeGpu::Get()), lock(gpu.mutex), error(gpu.Begin(name, needs_context, injected)) {}
  // Returns true if the call must return `error` without any effect.
  bool fails() const { return error != kSuccess; }
  // Returns true if a call that would release an object must keep it and return `error`. A call with an injected error
  // also returns `error`, but releases the object.
  bool skips_release() const { return error != kSuccess && !injected; }

  FakeGpu& gpu;
  std::unique_lock<std::mutex> lock;
  bool injected = false;
  Result error;
};

template <class Handle>
bool Knows(const std::set<Handle>& handles, Handle handle) {
  return handles.contains(handle);
}

template <class Handle>
Result Release(const char* name, std::set<Handle> FakeGpu::*handles, Handle handle) {
  Call call(name);
  if (call.skips_release()) return call.error;
  if ((call.gpu.*handles).erase(handle) == 0)
    return call.gpu.Forbid(kInvalidHandle, absl::StrCat(name, " of no handle"));
  call.gpu.Retire(handle);
  return call.error;
}

Result AddCopy(const char* name, bool up, void* host, DevicePointer device, size_t bytes, StreamHandle stream) {
  Call call(name);
  if (call.fails()) return call.error;
  if (!Knows(call.gpu.streams, stream)) return call.gpu.Forbid(kInvalidHandle, absl::StrCat(name, " on no stream"));
  if (!call.gpu.IsPinned(host, bytes)) {
    if (stream->captures) stream->invalid = true;
    return call.gpu.Forbid(kInvalidValue, absl::StrCat(name, " with pageable memory"));
  }
  if (bytes == 0 || !call.gpu.IsOnDevice(device, bytes)) {
    return call.gpu.Forbid(kInvalidValue, absl::StrCat(name, " outside of the device's memory"));
  }
  auto* const memory = reinterpret_cast<void*>(device);
  FakeWork work;
  work.kind = up ? FakeWork::Kind::kUpload : FakeWork::Kind::kDownload;
  work.to = up ? memory : host;
  work.from = up ? host : memory;
  work.bytes = bytes;
  call.gpu.Add(stream, std::move(work));
  return kSuccess;
}

struct NamedError {
  Result error;
  const char *name, *text;
};
constexpr NamedError kErrors[] = {
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};
const NamedError* Find(Result error) {
  const auto* const found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                         [&](const NamedError& named) { return named.error == error; });
  return found == std::end(kErrors) ? nullptr : found;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED vitrine::testing::FakeControl* vitrine_fake_driver() {
  return &FakeGpu::Get();
}

EXPORTED Result cuInit(unsigned flags) {
  Call call("cuInit", false);
  if (call.fails()) return call.error;
  if (flags != 0) return kInvalidValue;
  // Without a device, later calls fail with NOT_INITIALIZED.
  call.gpu.initialized = call.gpu.settings.devices > 0;
  return call.gpu.initialized ? kSuccess : kNoDevice;
}

EXPORTED Result cuDriverGetVersion(int* version) {
  Call call("cuDriverGetVersion", false);
  if (!call.fails()) *version = call.gpu.settings.version;
  return call.error;
}

EXPORTED Result cuGetErrorName(Result error, const char** name) {
  const NamedError* const found = Find(error);
  *name = found == nullptr ? "CUDA_ERROR_OTHER" : found->name;
  return kSuccess;
}

EXPORTED Result cuGetErrorString(Result error, const char** text) {
  const NamedError* const found = Find(error);
  *text = found == nullptr ? "another error" : found->text;
  return kSuccess;
}

EXPORTED Result cuDeviceGetCount(int* count) {
  Call call("cuDeviceGetCount", false);
  if (!call.fails()) *count = call.gpu.settings.devices;
  return call.error;
}

EXPORTED Result cuDeviceGet(int* device, int ordinal) {
  Call call("cuDeviceGet", false);
  if (call.fails()) return call.error;
  if (ordinal < 0 || ordinal >= call.gpu.settings.devices) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

EXPORTED Result cuDeviceGetName(char* name, int bytes, int /*device*/) {
  Call call("cuDeviceGetName", false);
  if (call.fails()) return call.error;
  std::strncpy(name, "Emulated GPU", static_cast<size_t>(bytes));
  return kSuccess;
}

EXPORTED Result cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  Call call("cuDeviceGetAttribute", false);
  if (call.fails()) return call.error;
  switch (attribute) {
    case kMultiprocessors:
      *value = call.gpu.settings.multiprocessors;
      return kSuccess;
    case kCapabilityMajor:
      *value = call.gpu.settings.major;
      return kSuccess;
    case kCapabilityMinor:
      *value = call.gpu.settings.minor;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

EXPORTED Result cuDevicePrimaryCtxRetain(ContextHandle* context, int /*device*/) {
  Call call("cuDevicePrimaryCtxRetain", false);
  if (call.fails()) return call.error;
  ++call.gpu.context_count;
  *context = &call.gpu.context;
  return kSuccess;
}

EXPORTED Result cuDevicePrimaryCtxRelease_v2(int /*device*/) {
  Call call("cuDevicePrimaryCtxRelease_v2", false);
  if (call.skips_release()) return call.error;
  if (call.gpu.context_count == 0) return call.gpu.Forbid(kInvalidContext, "a context is released twice");
  if (--call.gpu.context_count == 0) {
    for (const ModuleHandle module : call.gpu.modules) call.gpu.Retire(module);
    call.gpu.modules.clear();
  }
  return call.error;
}

EXPORTED Result cuCtxSetCurrent(ContextHandle context) {
  Call call("cuCtxSetCurrent", false);
  if (call.fails()) return call.error;
  if (context != nullptr && (context != &call.gpu.context || call.gpu.context_count == 0)) {
    return call.gpu.Forbid(kInvalidContext, "cuCtxSetCurrent of no context");
  }
  current_context = context;
  return kSuccess;
}

EXPORTED Result cuModuleLoadData(ModuleHandle* module, const void* image) {
  Call call("cuModuleLoadData");
  if (call.fails()) return call.error;
  if (const Result refused = call.gpu.RefuseInCapture("cuModuleLoadData"); refused != kSuccess) return refused;
  if (image == nullptr) return kInvalidValue;
  *module = *call.gpu.modules.insert(new ModuleOfDriver).first;
  return kSuccess;
}

EXPORTED Result cuModuleUnload(ModuleHandle module) {
  return Release("cuModuleUnload", &FakeGpu::modules, module);
}

EXPORTED Result cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  Call call("cuModuleGetFunction");
  if (call.fails()) return call.error;
  if (!Knows(call.gpu.modules, module)) return call.gpu.Forbid(kInvalidHandle, "cuModuleGetFunction of no module");
  // The real driver may load the code of the function here. This allocates memory, which is forbidden during a capture.
  if (const Result refused = call.gpu.RefuseInCapture("cuModuleGetFunction"); refused != kSuccess) return refused;
  const auto* const kernel = vitrine::cuda::emulated::FindKernel(name);
  if (kernel == nullptr) return kNotFound;
  auto& made = module->functions[name];
  if (made == nullptr) made = std::make_unique<FunctionOfDriver>(FunctionOfDriver{.kernel = kernel});
  *function = made.get();
  return kSuccess;
}

EXPORTED Result cuFuncSetAttribute(FunctionHandle function, int attribute, int value) {
  Call call("cuFuncSetAttribute");
  if (call.fails()) return call.error;
  if (attribute != kMaxDynamicSharedBytes || value < 0 || static_cast<size_t>(value) > kMostSharedBytes) {
    return call.gpu.Forbid(kInvalidValue, absl::StrCat("cuFuncSetAttribute ", attribute, " to ", value));
  }
  function->most_shared_bytes = static_cast<size_t>(value);
  return kSuccess;
}

EXPORTED Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, FunctionHandle function, int threads,
                                                            size_t shared_bytes) {
  Call call("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  if (call.fails()) return call.error;
  const bool fits =
      threads > 0 && threads <= static_cast<int>(kMostThreads) && shared_bytes <= function->most_shared_bytes;
  *blocks = fits ? kBlocksPerMultiprocessor : 0;
  return kSuccess;
}

EXPORTED Result cuLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                               StreamHandle stream, void** parameters, void** extra) {
  Call call("cuLaunchKernel");
  if (call.fails()) return call.error;
  if (!Knows(call.gpu.streams, stream)) return call.gpu.Forbid(kInvalidHandle, "cuLaunchKernel on no stream");
  const bool flat = grid_y == 1 && grid_z == 1 && block_y == 1 && block_z == 1;
  const bool fits = grid_x > 0 && grid_x < 1u << 31 && block_x > 0 && block_x <= kMostThreads && block_x % 32 == 0;
  if (!flat || !fits || shared_bytes > function->most_shared_bytes || extra != nullptr || parameters == nullptr) {
    return call.gpu.Forbid(kInvalidValue, absl::StrCat("launch of ", grid_x, " blocks of ", block_x, " threads with ",
                                                       shared_bytes, " bytes"));
  }
  FakeWork work;
  work.kind = FakeWork::Kind::kKernel;
  work.kernel = function->kernel;
  work.function = function;
  const auto* const arguments = static_cast<const std::byte*>(parameters[0]);
  work.arguments.assign(arguments, arguments + function->kernel->argument_bytes);
  work.shape = {.kernel = std::string(function->kernel->name),
                .blocks = static_cast<int>(grid_x),
                .threads = static_cast<int>(block_x),
                .shared_bytes = shared_bytes};
  call.gpu.Add(stream, std::move(work));
  return kSuccess;
}

EXPORTED Result cuMemAlloc_v2(DevicePointer* memory, size_t bytes) {
  Call call("cuMemAlloc_v2");
  if (call.fails()) return call.error;
  if (const Result refused = call.gpu.RefuseInCapture("cuMemAlloc"); refused != kSuccess) return refused;
  if (bytes == 0) return call.gpu.Forbid(kInvalidValue, "cuMemAlloc of 0 bytes");
  *memory = call.gpu.AllocateDevice(call.lock, bytes);
  return *memory == 0 ? kOutOfMemory : kSuccess;
}

EXPORTED Result cuMemFree_v2(DevicePointer memory) {
  Call call("cuMemFree_v2");
  if (call.skips_release()) return call.error;
  if (const Result refused = call.gpu.RefuseInCapture("cuMemFree"); refused != kSuccess) return refused;
  if (!call.gpu.IsOnDevice(memory, 1)) return call.gpu.Forbid(kInvalidValue, "cuMemFree of no memory");
  call.gpu.FreeDevice(call.lock, memory);
  return call.error;
}

EXPORTED Result cuMemGetInfo_v2(size_t* free, size_t* total) {
  Call call("cuMemGetInfo_v2");
  if (call.fails()) return call.error;
  *free = call.gpu.free_bytes();
  *total = call.gpu.settings.memory_bytes;
  return kSuccess;
}

EXPORTED Result cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  Call call("cuMemHostAlloc");
  if (call.fails()) return call.error;
  if (const Result refused = call.gpu.RefuseInCapture("cuMemHostAlloc"); refused != kSuccess) return refused;
  if (bytes == 0 || flags != 0) return call.gpu.Forbid(kInvalidValue, "cuMemHostAlloc with flags or of 0 bytes");
  if (call.gpu.pinned_total + bytes > call.gpu.settings.pinned_bytes) return kOutOfMemory;
  *memory = ::operator new(bytes);
  call.gpu.pinned[static_cast<std::byte*>(*memory)] = bytes;
  call.gpu.pinned_total += bytes;
  return kSuccess;
}

EXPORTED Result cuMemFreeHost(void* memory) {
  Call call("cuMemFreeHost");
  if (call.skips_release()) return call.error;
  const auto found = call.gpu.pinned.find(static_cast<std::byte*>(memory));
  if (found == call.gpu.pinned.end()) return call.gpu.Forbid(kInvalidValue, "cuMemFreeHost of no memory");
  call.gpu.Synchronize(call.lock);
  call.gpu.pinned_total -= found->second;
  call.gpu.pinned.erase(found);
  ::operator delete(memory);
  return call.error;
}

EXPORTED Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, StreamHandle stream) {
  return AddCopy("cuMemcpyHtoDAsync_v2", true, const_cast<void*>(from), to, bytes, stream);
}

EXPORTED Result cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes, StreamHandle stream) {
  return AddCopy("cuMemcpyDtoHAsync_v2", false, to, from, bytes, stream);
}

EXPORTED Result cuStreamCreate(StreamHandle* stream, unsigned flags) {
  Call call("cuStreamCreate");
  if (call.fails()) return call.error;
  if (flags != kStreamNonBlocking) return call.gpu.Forbid(kInvalidValue, "a stream that waits for the default stream");
  *stream = *call.gpu.streams.insert(new StreamOfDriver).first;
  return kSuccess;
}

EXPORTED Result cuStreamDestroy_v2(StreamHandle stream) {
  Call call("cuStreamDestroy_v2");
  if (call.skips_release()) return call.error;
  if (!Knows(call.gpu.streams, stream)) return call.gpu.Forbid(kInvalidHandle, "cuStreamDestroy of no stream");
  if (!stream->queue.empty() || stream->runs) call.gpu.Forbid(kSuccess, "a stream with work is destroyed");
  call.gpu.Synchronize(call.lock);
  call.gpu.streams.erase(stream);
  call.gpu.Retire(stream);
  return call.error;
}

EXPORTED Result cuStreamBeginCapture_v2(StreamHandle stream, int mode) {
  Call call("cuStreamBeginCapture_v2");
  if (call.fails()) return call.error;
  if (!Knows(call.gpu.streams, stream) || stream->captures) {
    return call.gpu.Forbid(kInvalidHandle, "cuStreamBeginCapture of no stream, or twice");
  }
  stream->captures = true;
  stream->invalid = false;
  stream->mode = mode;
  stream->captured_by = std::this_thread::get_id();
  stream->captured.clear();
  return kSuccess;
}

EXPORTED Result cuStreamEndCapture(StreamHandle stream, GraphHandle* graph) {
  Call call("cuStreamEndCapture");
  if (call.skips_release()) return call.error;
  if (!Knows(call.gpu.streams, stream) || !stream->captures || stream->captured_by != std::this_thread::get_id()) {
    return call.gpu.Forbid(kInvalidHandle, "cuStreamEndCapture without a capture of this thread");
  }
  stream->captures = false;
  if (call.fails()) return call.error;
  if (stream->invalid) return kCaptureInvalidated;
  *graph = *call.gpu.graphs.insert(new GraphOfDriver{std::move(stream->captured)}).first;
  return kSuccess;
}

EXPORTED Result cuEventCreate(EventHandle* event, unsigned flags) {
  Call call("cuEventCreate");
  if (call.fails()) return call.error;
  if (flags != kEventDisableTiming && flags != kEventWithTiming) {
    return call.gpu.Forbid(kInvalidValue, absl::StrCat("an event with flags ", flags));
  }
  *event = *call.gpu.events.insert(new EventOfDriver{.timed = flags == kEventWithTiming}).first;
  return kSuccess;
}

EXPORTED Result cuEventDestroy_v2(EventHandle event) {
  return Release("cuEventDestroy_v2", &FakeGpu::events, event);
}

EXPORTED Result cuEventRecord(EventHandle event, StreamHandle stream) {
  Call call("cuEventRecord");
  if (call.fails()) return call.error;
  if (!Knows(call.gpu.events, event) || !Knows(call.gpu.streams, stream)) {
    return call.gpu.Forbid(kInvalidHandle, "cuEventRecord of no event or stream");
  }
  FakeWork work;
  work.event = event;
  work.record = ++event->recorded;
  call.gpu.Add(stream, std::move(work));
  return kSuccess;
}

EXPORTED Result cuEventQuery(EventHandle event) {
  Call call("cuEventQuery");
  if (call.fails()) return call.error;
  if (!Knows(call.gpu.events, event)) return call.gpu.Forbid(kInvalidHandle, "cuEventQuery of no event");
  return event->done < event->recorded ? kNotReady : kSuccess;
}

EXPORTED Result cuEventElapsedTime_v2(float* milliseconds, EventHandle begin, EventHandle end) {
  Call call("cuEventElapsedTime_v2");
  if (call.fails()) return call.error;
  for (const EventHandle event : {begin, end}) {
    if (!Knows(call.gpu.events, event) || !event->timed || event->recorded == 0) {
      return call.gpu.Forbid(kInvalidHandle, "cuEventElapsedTime of an event without a time");
    }
    if (event->done < event->recorded) return kNotReady;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
  return kSuccess;
}

EXPORTED Result cuGraphInstantiateWithFlags(GraphExecHandle* exec, GraphHandle graph, unsigned long long flags) {
  Call call("cuGraphInstantiateWithFlags");
  if (call.fails()) return call.error;
  if (!Knows(call.gpu.graphs, graph) || flags != 0) return call.gpu.Forbid(kInvalidHandle, "cuGraphInstantiate");
  *exec = *call.gpu.execs.insert(new GraphExecOfDriver{graph->work}).first;
  return kSuccess;
}

EXPORTED Result cuGraphUpload(GraphExecHandle exec, StreamHandle stream) {
  Call call("cuGraphUpload");
  if (call.fails()) return call.error;
  const bool known = Knows(call.gpu.execs, exec) && Knows(call.gpu.streams, stream);
  return known ? kSuccess : call.gpu.Forbid(kInvalidHandle, "cuGraphUpload of no graph");
}

EXPORTED Result cuGraphLaunch(GraphExecHandle exec, StreamHandle stream) {
  Call call("cuGraphLaunch");
  if (call.fails()) return call.error;
  if (!Knows(call.gpu.execs, exec) || !Knows(call.gpu.streams, stream)) {
    return call.gpu.Forbid(kInvalidHandle, "cuGraphLaunch of no graph");
  }
  if (exec->in_flight > 0 && exec->stream != stream) {
    return call.gpu.Forbid(kInvalidValue, "a graph is launched while it runs in another stream");
  }
  for (const FakeWork& work : exec->work) {
    if (work.kind == FakeWork::Kind::kKernel && work.shape.shared_bytes > work.function->most_shared_bytes) {
      return call.gpu.Forbid(kInvalidValue, "a launch of a graph has more shared memory than its function allows");
    }
  }
  ++exec->in_flight;
  exec->stream = stream;
  for (const FakeWork& work : exec->work) call.gpu.Add(stream, work);
  FakeWork end;
  end.kind = FakeWork::Kind::kGraphEnd;
  end.exec = exec;
  call.gpu.Add(stream, std::move(end));
  return kSuccess;
}

EXPORTED Result cuGraphExecDestroy(GraphExecHandle exec) {
  {
    const std::scoped_lock lock(FakeGpu::Get().mutex);
    if (Knows(FakeGpu::Get().execs, exec) && exec->in_flight > 0) {
      FakeGpu::Get().Forbid(kSuccess, "a graph is destroyed while it runs");
    }
  }
  return Release("cuGraphExecDestroy", &FakeGpu::execs, exec);
}

EXPORTED Result cuGraphDestroy(GraphHandle graph) {
  return Release("cuGraphDestroy", &FakeGpu::graphs, graph);
}
