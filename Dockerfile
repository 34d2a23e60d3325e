# Images of memplan, from any Debian 12. Two targets:
#
#   daemon   memplan-server and memplan; runs no probes, knows devices and plans
#   worker   the same with memplan-worker and libtorch, 4 GB more; runs probes
#
# Both run as a user without rights, need no capability, no network beside what is
# published, and no root file system to write to: /var/lib/memplan (models,
# probes) and /run/memplan (the socket) are volumes. Build with --format docker,
# or the health check is lost; scripts/container-test does all of it.
ARG BASE_IMAGE=debian:bookworm-slim

FROM ${BASE_IMAGE} AS build
WORKDIR /src
COPY scripts/packages.txt scripts/
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      build-essential ccache cmake ninja-build pkg-config \
      $(sed -n '/^# Libraries of the daemon/,/^$/{/^#/!p}' scripts/packages.txt)
COPY . .
ARG BUILD_OPTIONS="-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16"
ARG JOBS=2
# Beside the programs goes a list of the packages that their libraries are in. The
# compiler's cache outlives a build, so that the next compiles what has changed.
RUN --mount=type=cache,target=/root/.cache/ccache \
    cmake --preset release -DMEMPLAN_BUILD_WORKER=OFF -DMEMPLAN_BUILD_TESTS=OFF \
      ${BUILD_OPTIONS} \
 && cmake --build --preset release --parallel ${JOBS} --target memplan memplan-server \
 && cmake --install build/release --prefix /out --component programs --strip \
 && deploy/container/packages-of /out/bin/* > /out.packages

# The worker alone, with libtorch from the wheels of scripts/requirements.txt, or
# from an environment of scripts/setup that is mounted at /opt/venv.
FROM build AS build-worker
ARG JOBS=2
RUN [ -e /opt/venv/lib ] \
 || { apt-get install -y -qq --no-install-recommends python3 python3-venv \
 && python3 -m venv /opt/venv \
 && /opt/venv/bin/pip install --quiet --no-deps --requirement scripts/requirements.txt; }
RUN --mount=type=cache,target=/root/.cache/ccache \
    cmake --preset release -DMEMPLAN_BUILD_WORKER=ON -DMEMPLAN_VENV=/opt/venv \
 && cmake --build --preset release --parallel ${JOBS} --target memplan-worker \
 && cmake --install build/release --prefix /out/worker --component worker --strip \
 && cmake --install build/release --prefix /out/worker --component torch

FROM ${BASE_IMAGE} AS daemon
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="memplan" \
      org.opencontainers.image.description="Plans GPU memory before a job starts" \
      org.opencontainers.image.version="${VERSION}"
# gRPC's packages bring along a second gRPC without TLS and protoc's own library,
# 9 MB that no program of ours is linked to.
RUN --mount=type=bind,from=build,source=/out.packages,target=/tmp/packages \
    set -f; library=/usr/lib/*/lib \
 && apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      -o Dpkg::Options::=--path-exclude=/usr/share/doc/* \
      -o Dpkg::Options::=--path-exclude=${library}grpc_unsecure.so* \
      -o Dpkg::Options::=--path-exclude=${library}grpc++_unsecure.so* \
      -o Dpkg::Options::=--path-exclude=${library}grpc_plugin_support.so* \
      -o Dpkg::Options::=--path-exclude=${library}grpcpp_channelz.so* \
      -o Dpkg::Options::=--path-exclude=${library}protoc.so* \
      $(cat /tmp/packages) \
 && set +f \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/ldconfig /var/log/* \
      /var/lib/dpkg/*-old \
 && groupadd --gid 10001 memplan \
 && useradd --uid 10001 --gid memplan --no-log-init --home-dir /var/lib/memplan \
      --shell /usr/sbin/nologin memplan \
 && install -d -o memplan -g memplan -m 0700 /var/lib/memplan \
 && install -d -o memplan -g memplan -m 0755 /run/memplan
COPY --from=build /out/bin/ /usr/local/bin/
RUN ! ldd /usr/local/bin/* | grep 'not found'
# What NVIDIA's runtime is to bring in: all GPUs, with NVML and no more.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=utility
USER memplan
VOLUME ["/var/lib/memplan", "/run/memplan"]
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["memplan", "status"]
# Options that are given after the image's name win over these.
ENTRYPOINT ["memplan-server", "--store", "/var/lib/memplan", "--socket", "/run/memplan/memplan.sock"]
CMD ["--worker", "none"]

# All else that its libraries need comes with the wheels or with apt.
FROM daemon AS worker
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
CMD []
COPY --from=build-worker /out/worker/ /usr/local/
