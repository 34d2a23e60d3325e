#!/usr/bin/env python3
"""A client of the daemon made from reflection alone: no generated code.

    reflection_client.py ADDRESS                     lists the devices
    reflection_client.py ADDRESS MODEL_SHA256 INPUT  also starts a probe and prints its id

Needs grpcio and grpcio-reflection. ADDRESS is what gRPC takes: unix:PATH or HOST:PORT.
"""

import sys

import grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase)


class ReflectionClient:
    """Calls methods by name; messages are made by `message`."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address)
        self.database = ProtoReflectionDescriptorDatabase(self.channel)
        self.pool = descriptor_pool.DescriptorPool(self.database)

    def services(self):
        return list(self.database.get_services())

    def message(self, name, **fields):
        descriptor = self.pool.FindMessageTypeByName(name)
        return message_factory.GetMessageClass(descriptor)(**fields)

    def enum(self, name, value):
        return self.pool.FindEnumTypeByName(name).values_by_name[value].number

    def call(self, method, request, timeout=20):
        """`method` is Service/Method. `request` is a message, or an iterator of them for a
        client stream; of a server stream the answer is an iterator."""
        service, name = method.split("/")
        descriptor = self.pool.FindServiceByName(f"memplan.v1.{service}").methods_by_name[name]
        kind = "_".join("stream" if streaming else "unary" for streaming in
                        (descriptor.client_streaming, descriptor.server_streaming))
        answer = message_factory.GetMessageClass(descriptor.output_type)
        path = f"/memplan.v1.{service}/{name}"
        return getattr(self.channel, kind)(
            path, request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer.FromString)(request, timeout=timeout)

    def details(self, error):
        """The google.rpc details of an RpcError, by their names: ErrorInfo, BadRequest, …"""
        trailer = dict(error.trailing_metadata()).get("grpc-status-details-bin")
        if trailer is None:
            return {}
        status = self.message("google.rpc.Status")
        status.ParseFromString(trailer)
        found = {}
        for detail in status.details:
            name = detail.type_url.rsplit("/", 1)[-1]
            found[name.rsplit(".", 1)[-1]] = self.message(name)
            found[name.rsplit(".", 1)[-1]].ParseFromString(detail.value)
        return found

    def close(self):
        self.channel.close()


def start_probe(client, model_sha256, device_id, model_input):
    """Looks for the largest safe batch below a cap of 1 GiB; returns the probe."""
    spec = client.message(
        "memplan.v1.ProbeSpec", model_sha256=model_sha256, device_id=device_id,
        inputs=[model_input], cap_bytes=1 << 30,
        mode=client.enum("memplan.v1.Mode", "MODE_INFER"),
        run_as=client.enum("memplan.v1.RunAs", "RUN_AS_TORCHSCRIPT"),
        search=client.message("memplan.v1.SearchTask"))
    request = client.message("memplan.v1.CreateProbeRequest", spec=spec)
    return client.call("ProbeService/CreateProbe", request).probe


def main():
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__.strip())
    client = ReflectionClient(sys.argv[1])
    devices = client.call("DeviceService/ListDevices",
                          client.message("memplan.v1.ListDevicesRequest")).devices
    for device in devices:
        print(device.id, device.display_name)
    if len(sys.argv) == 4:
        print(start_probe(client, sys.argv[2], devices[0].id, sys.argv[3]).id)
    client.close()


if __name__ == "__main__":
    main()
