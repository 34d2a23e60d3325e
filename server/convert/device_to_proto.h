// Devices as protos. What the driver does not say stays unset. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_DEVICE_TO_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_DEVICE_TO_PROTO_H_

#include "memplan/v1/device_service.pb.h"
#include "planner/admission/device.h"

namespace memplan {

v1::Device ToProto(const Device& device);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_DEVICE_TO_PROTO_H_
