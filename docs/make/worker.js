// Opened from a file a browser starts no workers: this runs the search's worker in a hidden frame of the same page.
if (location.protocol === "file:") {
  const deliver = (target, data) => {
    const copy = structuredClone(data); // and later, as a worker does: neither side is in the middle of something
    setTimeout(() => target.dispatchEvent(new MessageEvent("message", { data: copy })));
  };
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.addEventListener("message", (event) => this.onmessage && this.onmessage(event));
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html>";
      frame.addEventListener("load", () => this.start(frame.contentWindow, new URL(url, location.href).href));
      document.body.appendChild(frame);
    }
    start(inside, address) {
      inside.postMessage = (data) => deliver(this, data);
      const script = inside.document.createElement("script");
      script.src = address;
      script.addEventListener("load", () => {
        this.inside = inside;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
      inside.document.body.appendChild(script);
    }
    postMessage(data) {
      this.inside ? deliver(this.inside, data) : this.waiting.push(data);
    }
    terminate() {}
  };
}
