/** Playing a schedule: steps follow each other, and packets move along the links. */

import { byId } from "./controls.js";

/** @typedef {import("./main.js").Explorer} Explorer */

const STEP_SECONDS = 0.9;
/** The position on its link at which a packet is drawn while nothing moves. */
const PACKET_AT_REST = 0.55;

export class Player {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.progress = PACKET_AT_REST;
    this.isPlaying = false;
    this.frame = 0;
  }

  /** Move the packets to their positions at rest. */
  rest() {
    this.progress = PACKET_AT_REST;
  }

  play() {
    const { explorer } = this;
    if (!explorer.replay?.steps) return;
    if (explorer.state.step >= explorer.replay.steps) explorer.goTo(0);
    this.isPlaying = true;
    byId("play").textContent = "⏸";
    byId("play").setAttribute("aria-label", "Pause");
    const isReduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const started = { step: 0, time: 0 };
    /** @param {number} time */
    const frame = (time) => {
      if (!this.isPlaying || !explorer.replay) return;
      if (!started.step) {
        if (explorer.state.step >= explorer.replay.steps) {
          this.stop();
          return;
        }
        started.step = explorer.state.step + 1;
        started.time = time;
        if (!isReduced) explorer.buildScene(started.step, started.step - 1);
      }
      const seconds = STEP_SECONDS / Number(byId("speed").value);
      const progress = (time - started.time) / 1000 / seconds;
      if (progress >= 1) {
        explorer.goTo(started.step);
        started.step = 0;
      } else if (!isReduced) {
        this.progress = progress;
        explorer.draw();
      }
      this.frame = requestAnimationFrame(frame);
    };
    this.frame = requestAnimationFrame(frame);
  }

  stop() {
    cancelAnimationFrame(this.frame); // otherwise two loops run after a quick stop and start
    this.isPlaying = false;
    this.rest();
    byId("play").textContent = "▶";
    byId("play").setAttribute("aria-label", "Play");
  }

  toggle() {
    if (!this.isPlaying) this.play();
    else {
      this.stop();
      this.explorer.refresh();
    }
  }
}
