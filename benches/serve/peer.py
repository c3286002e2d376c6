"""What a user would build: FastAPI and uvicorn around MiniLM with a linear output.

    PEER=torch ENCODER=models/all-MiniLM-L6-v2 uvicorn --app-dir benches/serve peer:app --port 9001
    PEER=onnx  ..

A request at a time goes through the network; a thread pool takes them, as FastAPI does by itself.
The output has random weights: it takes as long as any.
"""

import os
import pathlib
import tempfile

import numpy as np
import torch
import transformers
from fastapi import FastAPI
from pydantic import BaseModel

CLASSES, THREADS = 150, int(os.environ.get("THREADS", "2"))
encoder = pathlib.Path(os.environ["ENCODER"])
torch.set_num_threads(THREADS)
tokenizer = transformers.AutoTokenizer.from_pretrained(encoder)
torch.manual_seed(0)


class Classifier(torch.nn.Module):
    """Encoder, mean over tokens, output."""

    def __init__(self):
        super().__init__()
        self.encoder = transformers.AutoModel.from_pretrained(encoder)
        self.output = torch.nn.Linear(self.encoder.config.hidden_size, CLASSES)

    def forward(self, input_ids, attention_mask):
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask)[0]
        real = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * real).sum(1) / real.sum(1)
        return torch.softmax(self.output(mean), -1)


model = Classifier().eval()
if os.environ["PEER"] == "onnx":
    import onnxruntime

    file = pathlib.Path(tempfile.mkdtemp()) / "model.onnx"
    example = tokenizer(["a sentence"], return_tensors="pt")
    axes = {0: "rows", 1: "tokens"}
    torch.onnx.export(
        model, (example["input_ids"], example["attention_mask"]), file, opset_version=17,
        input_names=["input_ids", "attention_mask"], output_names=["probabilities"],
        dynamic_axes={"input_ids": axes, "attention_mask": axes, "probabilities": {0: "rows"}},
        dynamo=False,
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

    def probabilities(text):
        tokens = tokenizer([text], return_tensors="np", truncation=True)
        inputs = {name: tokens[name].astype(np.int64) for name in ["input_ids", "attention_mask"]}
        return session.run(None, inputs)[0][0]
else:

    def probabilities(text):
        tokens = tokenizer([text], return_tensors="pt", truncation=True)
        with torch.inference_mode():
            return model(tokens["input_ids"], tokens["attention_mask"])[0].numpy()


app = FastAPI()


class Row(BaseModel):
    """What is asked."""

    text: str


@app.post("/v1/predict")
def predict(row: Row):
    found = probabilities(row.text)
    best = int(found.argmax())
    return {"label": best, "probability": float(found[best])}
