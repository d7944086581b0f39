/** Copies text to the clipboard or saves it as a file. Nothing leaves the page. */

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages that are not secure have no clipboard API, but they can copy a selection.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(content);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
