"""The two clients of tritonclient behind one face."""

import numpy as np
import tritonclient.grpc as grpc
import tritonclient.http as http


class Client:
    """One of the two protocols."""

    def __init__(self, server, kind):
        self.kind = kind
        self.module = {"http": http, "grpc": grpc}[kind]
        url = server.url if kind == "http" else server.grpc
        self.client = self.module.InferenceServerClient(url)

    def input_of(self, model):
        """The name of the only input of a model."""
        metadata = self.client.get_model_metadata(model)
        inputs = metadata["inputs"] if self.kind == "http" else metadata.inputs
        return inputs[0]["name"] if self.kind == "http" else inputs[0].name

    def tensor(self, name, values, datatype, binary=True):
        values = np.asarray(values)
        made = self.module.InferInput(name, list(values.shape), datatype)
        if self.kind == "http":
            made.set_data_from_numpy(values, binary_data=binary)
        else:
            made.set_data_from_numpy(values)
        return made

    def output(self, name, binary=True):
        if self.kind == "http":
            return self.module.InferRequestedOutput(name, binary_data=binary)
        return self.module.InferRequestedOutput(name)

    def infer(self, model, inputs, outputs=None, **more):
        return self.client.infer(model, inputs, outputs=outputs, **more)


def texts(values):
    """BYTES of some texts."""
    return np.array([value.encode() for value in values], dtype=np.object_)


def strings(result, name):
    """An output of texts."""
    values = result.as_numpy(name)
    return [value.decode() if isinstance(value, bytes) else str(value) for value in values]
