# SPDX-License-Identifier: Apache-2.0
# Container images of Vitrine, explained in docs/operations/kubernetes.md. Each image is a target of this file:
#
#   docker build --target server  -t vitrine-server .     for CPUs and GPUs, the default target
#   docker build --target trainer -t vitrine-trainer .
#   docker build --target client  -t vitrine-client .
#   docker build --target gpu-check -t vitrine-gpu-check .
#
# The images contain only the programs and the libraries that these need. They have no shell, no package manager, no
# Python and no compiler. They run as user 65532 and need no writable file system.

# The base image is pinned by its digest, and the packages by a snapshot of Debian's archive of the same day. If
# DEBIAN_SNAPSHOT is empty, packages come from the package sources of the base image. Wheels are pinned in script/pins/.
ARG DEBIAN_IMAGE=docker.io/library/debian:bookworm-20260824-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171
ARG DEBIAN_SNAPSHOT=20260824T000000Z

# Build stage with the compilers and libraries for the server and the client. It has NVIDIA's compiler for GPU kernels,
# but not LibTorch.
FROM ${DEBIAN_IMAGE} AS toolchain
ARG DEBIAN_SNAPSHOT
WORKDIR /src
COPY script/bootstrap script/cuda-compiler script/unpack-wheels script/
COPY script/pins/packages.txt script/pins/libtorch.txt script/pins/googleapis.txt script/pins/opentelemetry-proto.txt \
     script/pins/cuda-compiler.txt script/pins/
COPY deploy/container/apt-snapshot deploy/container/
# ccache has separate entries for each LANG, so all builds use the same LANG.
ENV LANG=C.UTF-8
RUN deploy/container/apt-snapshot "$DEBIAN_SNAPSHOT" && script/bootstrap serving && script/cuda-compiler

# Build stage that compiles the programs from the checkout. BuildKit and buildah keep the compiler's cache after the
# build. If CCACHE_DIR is set to another folder, the cache that is mounted there is used.
FROM toolchain AS build
ARG VITRINE_REVISION=
ARG CCACHE_DIR=/var/cache/ccache
ARG JOBS=
COPY . .
RUN --mount=type=cache,id=vitrine-ccache,target=/var/cache/ccache \
    export CCACHE_DIR && cmake --preset cuda -DVITRINE_REVISION="$VITRINE_REVISION" >/dev/null \
    && script/build cuda ${JOBS:+-j$JOBS} vitrine-server vitrine-repo vitrine_cuda_library vitrine vitrine-gpu-check \
    && deploy/container/assemble-all /images && find build-cuda -name '*.[ao]' -delete

# Build stage that compiles the trainer, with LibTorch.
FROM toolchain AS build-training
RUN script/bootstrap && rm -rf /var/lib/apt/lists/*
ARG VITRINE_REVISION=
ARG CCACHE_DIR=/var/cache/ccache
ARG JOBS=
COPY . .
RUN --mount=type=cache,id=vitrine-ccache,target=/var/cache/ccache \
    export CCACHE_DIR && cmake --preset release -DVITRINE_REVISION="$VITRINE_REVISION" >/dev/null \
    && script/build release ${JOBS:+-j$JOBS} vitrine-train vitrine-repo vitrine_torch \
    && deploy/container/assemble-all --training /images && find build -name '*.[ao]' -delete

# Common part of the images: labels, user, and mount points of volumes.
FROM scratch AS image
ARG VITRINE_REVISION=
ARG VITRINE_VERSION=0.1.0
LABEL org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VITRINE_VERSION}" \
      org.opencontainers.image.revision="${VITRINE_REVISION}" \
      org.opencontainers.image.base.name="scratch"
COPY --from=build --chown=65532:65532 /images/state /
ENV PATH=/usr/bin
USER 65532:65532
WORKDIR /runs
STOPSIGNAL SIGTERM

# The server. It computes on the CPU or, with --device cuda:0, on a GPU. If a container requests GPUs (docker run
# --gpus, or a limit of nvidia.com/gpu), the NVIDIA container toolkit mounts the GPU driver. The image does not set
# NVIDIA_VISIBLE_DEVICES: with it, every server on a host with GPUs would get all GPUs.
FROM image AS server
LABEL org.opencontainers.image.title="vitrine-server" \
      org.opencontainers.image.description="Serves tiny vision transformers over gRPC"
COPY --from=build /images/server /
# Parts of the driver that the toolkit mounts, and folder for the driver's compiled kernels. The driver compiles kernels
# for GPUs that are newer than the image's kernels.
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility CUDA_CACHE_PATH=/tmp/cuda
EXPOSE 8500 8501
# The health listener uses plaintext and needs no credential, even if the listener for callers requires certificates or
# tokens.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["/usr/bin/vitrine-server", "--health-check=127.0.0.1:8502"]
ENTRYPOINT ["/usr/bin/vitrine-server"]
CMD ["--repository=/models", "--health-listen=127.0.0.1:8502"]

# The trainer, with vitrine-repo for the management of repositories.
FROM image AS trainer
LABEL org.opencontainers.image.title="vitrine-trainer" \
      org.opencontainers.image.description="Trains tiny vision transformers and publishes them for vitrine-server"
COPY --from=build-training /images/trainer /
ENTRYPOINT ["/usr/bin/vitrine-train"]
CMD ["list"]

# The command line client.
FROM image AS client
LABEL org.opencontainers.image.title="vitrine" \
      org.opencontainers.image.description="Asks a Vitrine server what is on pictures"
COPY --from=build /images/client /
ENTRYPOINT ["/usr/bin/vitrine"]
CMD ["--help"]

# A program that checks and measures a GPU: docker run --rm --gpus all -v "$PWD:/work" vitrine-gpu-check
FROM image AS gpu-check
LABEL org.opencontainers.image.title="vitrine-gpu-check" \
      org.opencontainers.image.description="Checks that Vitrine computes on a GPU what it computes on a CPU"
COPY --from=build /images/gpu-check /
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility CUDA_CACHE_PATH=/tmp/cuda
WORKDIR /work
ENTRYPOINT ["/usr/bin/vitrine-gpu-check", "--repository=/usr/share/vitrine/bundled", "--samples=/usr/share/vitrine/samples"]

FROM server
