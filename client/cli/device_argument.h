// Which device `--device` means.
#ifndef MEMPLAN_CLIENT_CLI_DEVICE_ARGUMENT_H_
#define MEMPLAN_CLIENT_CLI_DEVICE_ARGUMENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/console.h"
#include "memplan/v1/device_service.pb.h"

namespace memplan {

// The device called `wanted`: an id, the beginning of just one id, `cpu`, `gpu`
// (the first GPU), or empty (the first GPU, without one the CPU; says on
// `console` which). kNotFound, with the ids there are, if there is none.
absl::StatusOr<v1::Device> ChooseDevice(const v1::ListDevicesResponse& devices,
                                        const std::string& wanted,
                                        Console& console);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_DEVICE_ARGUMENT_H_
