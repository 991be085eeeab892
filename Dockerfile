# SPDX-License-Identifier: Apache-2.0
# Images of Vitrine; docs/operations/kubernetes.md explains them. One file for all:
#
#   docker build --target server  -t vitrine-server .     for CPUs and GPUs, the default target
#   docker build --target trainer -t vitrine-trainer .
#   docker build --target client  -t vitrine-client .
#   docker build --target gpu-check -t vitrine-gpu-check .
#
# The images contain the programs and all libraries that these need: no shell, no package manager, no Python, no
# compiler. They run as user 65532 and need no writable file system.

# The base image and the packages are pinned to one day: the image by its digest, the packages by a snapshot of the
# archive. With DEBIAN_SNAPSHOT= (empty), packages come from the sources of the base image's apt. Wheels are pinned in
# script/pins/.
ARG DEBIAN_IMAGE=docker.io/library/debian:bookworm-20260824-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171
ARG DEBIAN_SNAPSHOT=20260824T000000Z

# Build stage of the server and the client: compilers, also NVIDIA's for the kernels for GPUs, and libraries; no LibTorch.
FROM ${DEBIAN_IMAGE} AS toolchain
ARG DEBIAN_SNAPSHOT
WORKDIR /src
COPY script/bootstrap script/cuda-compiler script/unpack-wheels script/
COPY script/pins/packages.txt script/pins/libtorch.txt script/pins/googleapis.txt script/pins/opentelemetry-proto.txt \
     script/pins/cuda-compiler.txt script/pins/
COPY deploy/container/apt-snapshot deploy/container/
# ccache has separate entries for each LANG, so all builds use the same.
ENV LANG=C.UTF-8
RUN deploy/container/apt-snapshot "$DEBIAN_SNAPSHOT" && script/bootstrap serving && script/cuda-compiler

# The programs, compiled from the checkout. With BuildKit and buildah the compiler's cache is kept after the build. If
# CCACHE_DIR is another folder, the cache that is mounted there is used.
FROM toolchain AS build
ARG VITRINE_REVISION=
ARG CCACHE_DIR=/var/cache/ccache
ARG JOBS=
COPY . .
RUN --mount=type=cache,id=vitrine-ccache,target=/var/cache/ccache \
    export CCACHE_DIR && cmake --preset cuda -DVITRINE_REVISION="$VITRINE_REVISION" >/dev/null \
    && script/build cuda ${JOBS:+-j$JOBS} vitrine-server vitrine-repo vitrine_cuda_library vitrine vitrine-gpu-check \
    && deploy/container/assemble-all /images && find build-cuda -name '*.[ao]' -delete

# The same with LibTorch, for the trainer.
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

# The common part of the images: labels, user, and mount points of volumes.
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

# The server, which computes with its own engines: on the CPU, or with --device cuda:0 on a GPU, whose driver the NVIDIA
# container toolkit mounts where a container asks for GPUs (docker run --gpus, a limit of nvidia.com/gpu). The image does
# not ask for them (NVIDIA_VISIBLE_DEVICES): else every server on such a host would hold all of them.
FROM image AS server
LABEL org.opencontainers.image.title="vitrine-server" \
      org.opencontainers.image.description="Serves tiny vision transformers over gRPC"
COPY --from=build /images/server /
# What the toolkit mounts, and where the driver keeps kernels that it compiled for a GPU newer than they are.
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility CUDA_CACHE_PATH=/tmp/cuda
EXPOSE 8500 8501
# The health listener uses plaintext and needs no credential, even if the listener for callers requires certificates or
# tokens.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["/usr/bin/vitrine-server", "--health-check=127.0.0.1:8502"]
ENTRYPOINT ["/usr/bin/vitrine-server"]
CMD ["--repository=/models", "--health-listen=127.0.0.1:8502"]

# The trainer, and vitrine-repo to manage repositories.
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

# Checks a GPU and measures it: docker run --rm --gpus all -v "$PWD:/work" vitrine-gpu-check
FROM image AS gpu-check
LABEL org.opencontainers.image.title="vitrine-gpu-check" \
      org.opencontainers.image.description="Checks that Vitrine computes on a GPU what it computes on a CPU"
COPY --from=build /images/gpu-check /
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility CUDA_CACHE_PATH=/tmp/cuda
WORKDIR /work
ENTRYPOINT ["/usr/bin/vitrine-gpu-check", "--repository=/usr/share/vitrine/bundled", "--samples=/usr/share/vitrine/samples"]

FROM server
