/** It makes an image smaller until it may be sent, and answers with nothing where it cannot. */
interface Asked {
  file: Blob;
  most: number;
}

const sides = [4096, 3072, 2048, 1536, 1024];

addEventListener("message", (event: MessageEvent<Asked>) => {
  void smaller(event.data).then(
    (blob) => postMessage(blob),
    () => postMessage(undefined),
  );
});

async function smaller({ file, most }: Asked): Promise<Blob | undefined> {
  const bitmap = await createImageBitmap(file);
  for (const side of sides) {
    const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
    const canvas = new OffscreenCanvas(Math.max(1, Math.round(bitmap.width * scale)), Math.max(1, Math.round(bitmap.height * scale)));
    canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.9 });
    if (blob.size <= most) return blob;
  }
  return undefined;
}
