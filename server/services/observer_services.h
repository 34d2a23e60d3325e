// The API as observers see it: what only reads is passed on to the real services,
// what changes or costs something is refused with OBSERVER_ONLY. gRPC does not
// tell who is at the other end of a unix socket, so observers have a socket and a
// server of their own, and these are its services.
#ifndef MEMPLAN_SERVER_SERVICES_OBSERVER_SERVICES_H_
#define MEMPLAN_SERVER_SERVICES_OBSERVER_SERVICES_H_

#include <grpcpp/impl/service_type.h>

#include <memory>
#include <string>
#include <vector>

#include "memplan/v1/admission_service.grpc.pb.h"
#include "memplan/v1/device_service.grpc.pb.h"
#include "memplan/v1/model_service.grpc.pb.h"
#include "memplan/v1/plan_service.grpc.pb.h"
#include "memplan/v1/probe_service.grpc.pb.h"
#include "memplan/v1/server_service.grpc.pb.h"

namespace memplan {

// The real services that are read from; they outlive those for observers.
struct ObservedServices {
  v1::AdmissionService::CallbackService& admission;
  v1::DeviceService::CallbackService& devices;
  v1::ModelService::CallbackService& models;
  v1::ProbeService::CallbackService& probes;
  v1::ServerService::CallbackService& server;
};

// A service for each of the API, to be registered with one grpc::Server.
// `socket` is the one that refusals point to.
std::vector<std::unique_ptr<grpc::Service>> MakeObserverServices(
    const ObservedServices& observed, const std::string& socket);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_OBSERVER_SERVICES_H_
